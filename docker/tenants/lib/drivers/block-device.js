'use strict';
// Finds the disk of a tenant's data, to limit the tenant's writes to it.

const fs = require('node:fs');
const path = require('node:path');

/**
 * Returns the block device of a folder's files.
 * @param {string} folder
 * @param {string} [sys] where sysfs is
 * @returns {string} such as /dev/sda, '' = none: memory, a network, or a file system of several devices, such as Btrfs
 */
function blockDeviceOf(folder, sys = '/sys') {
  try {
    const { dev } = fs.statSync(folder, { bigint: true });
    // makedev(3): each of the two numbers is in two parts.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
    const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
    const device = fs.realpathSync(path.join(sys, 'dev', 'block', `${major}:${minor}`));
    // The kernel limits whole devices, not their partitions.
    const whole = fs.existsSync(path.join(device, 'partition')) ? path.dirname(device) : device;
    // The name of a device may contain a folder, such as cciss/c0d0.
    const [, name] = /^DEVNAME=(.+)$/m.exec(fs.readFileSync(path.join(whole, 'uevent'), 'utf8')) ?? [];
    return name ? `/dev/${name}` : '';
  } catch {
    return '';
  }
}

/**
 * True if the kernel can limit what a control group writes. An engine refuses to start a container with a limit that
 * the kernel lacks.
 * @param {string} [groups] where control groups are
 */
function canLimitWrites(groups = '/sys/fs/cgroup') {
  const has = (/** @type {string[]} */ ...names) => fs.existsSync(path.join(groups, ...names));
  if (has('blkio', 'blkio.throttle.write_bps_device')) return true;
  try {
    const controllers = fs.readFileSync(path.join(groups, 'cgroup.controllers'), 'utf8').trim().split(' ');
    if (!controllers.includes('io')) return false;
    // The root group has no limits. Other groups show whether the kernel has them (BLK_DEV_THROTTLING).
    return !fs.readdirSync(groups).some((name) => has(name, 'io.stat') && !has(name, 'io.max'));
  } catch {
    return false;
  }
}

/**
 * @param {string} folder
 * @param {{ sys?: string, groups?: string }} [places]
 * @returns {string} why the kernel does not limit what is written to the folder's files, '' = it can, or there is no
 *   folder yet
 */
function unlimitedWrites(folder, { sys = '/sys', groups = '/sys/fs/cgroup' } = {}) {
  if (!canLimitWrites(groups))
    return `this process sees no control group for disks (blkio or io) in ${groups}, or the kernel has none`;
  if (!fs.existsSync(folder) || blockDeviceOf(folder, sys)) return '';
  return `${folder} is in memory, on a network or on a file system of several devices`;
}

module.exports = { blockDeviceOf, canLimitWrites, unlimitedWrites };
