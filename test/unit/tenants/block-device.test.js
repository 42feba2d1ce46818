'use strict';
// Finds the disk of a folder, and whether the kernel can limit writes to it, in made-up folders of sysfs and cgroups.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { blockDeviceOf, canLimitWrites } = require('../../../docker/tenants/lib/drivers/block-device');

/** @type {string} */
let folder;
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-d-'))));
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {Record<string, string>} files by path */
function write(files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

/** Makes the entry of the device of this test's folder. @param {string} target */
function link(target) {
  const { dev } = fs.statSync(folder);
  const name = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & ~0xff)}`;
  fs.mkdirSync(path.join(folder, 'dev', 'block'), { recursive: true });
  fs.symlinkSync(path.join(folder, target), path.join(folder, 'dev', 'block', name));
}

describe('the disk of a folder', () => {
  test('is the device of its file system', () => {
    write({ 'devices/dm-0/uevent': 'MAJOR=253\nDEVNAME=dm-0\nDEVTYPE=disk\n' });
    link('devices/dm-0');
    expect(blockDeviceOf(folder, folder)).toBe('/dev/dm-0');
  });

  test('is the whole device of a partition', () => {
    write({
      'devices/sda/uevent': 'DEVNAME=sda\nDEVTYPE=disk\n',
      'devices/sda/sda1/uevent': 'DEVNAME=sda1\nDEVTYPE=partition\n',
      'devices/sda/sda1/partition': '1\n'
    });
    link('devices/sda/sda1');
    expect(blockDeviceOf(folder, folder)).toBe('/dev/sda');
  });

  test('is unknown in memory, without a name, and without the folder', () => {
    expect(blockDeviceOf(folder, folder)).toBe('');
    expect(blockDeviceOf('/proc')).toBe('');
    expect(blockDeviceOf(path.join(folder, 'none'))).toBe('');
    write({ 'devices/x/uevent': 'MAJOR=1\n' });
    link('devices/x');
    expect(blockDeviceOf(folder, folder)).toBe('');
  });
});

test.each([
  ['version 1', { 'blkio/blkio.throttle.write_bps_device': '' }, true],
  ['version 1 without limits', { 'blkio/tasks': '' }, false],
  ['version 2', { 'cgroup.controllers': 'cpu io memory pids\n' }, true],
  [
    'version 2 with a limited group',
    { 'cgroup.controllers': 'cpu io\n', 'a.slice/io.stat': '', 'a.slice/io.max': '' },
    true
  ],
  [
    'version 2 of a kernel without limits',
    { 'cgroup.controllers': 'cpu io\n', 'a.slice/io.stat': '' },
    false
  ],
  ['version 2 without disks', { 'cgroup.controllers': 'cpuset cpu memory pids\n' }, false],
  ['none', {}, false]
])('control groups of %s can limit writes: see %j', (_, files, expected) => {
  write(/** @type {Record<string, string>} */ (files));
  expect(canLimitWrites(folder)).toBe(expected);
});
