'use strict';
// Limits that an engine does not enforce. It still creates the container, with a warning: on a Raspberry Pi OS
// without the control group for memory, for example, a tenant can then use all of it.

const fs = require('node:fs');

/** Keys of the engine's /info, and what is not limited if they are false. @type {[string, string][]} */
const NEEDED = [
  ['MemoryLimit', 'memory'],
  ['PidsLimit', 'processes']
];
/**
 * Control groups by what makes those of an engine. With systemd, the services of the machine are in this one, too, and
 * Docker's containers, but not Podman's.
 */
const PARENTS = new Map([
  ['cgroupfs', '/'],
  ['systemd', 'system.slice']
]);
/** A container's warning about a limit. */
const ABOUT_LIMITS = /limit|cgroup/i;

/** @returns {boolean} true if this machine has swap */
function hasSwap() {
  try {
    return /^SwapTotal:\s*[1-9]/m.test(fs.readFileSync('/proc/meminfo', 'utf8'));
  } catch {
    return false;
  }
}

/**
 * @param {any} info the engine's /info; Podman names fewer keys, and one that is missing says nothing
 * @param {boolean} [isSwapping]
 * @returns {string} what the engine does not limit, such as 'memory and processes'; '' = nothing
 */
function unlimitedOf(info, isSwapping = hasSwap()) {
  const lacking = NEEDED.filter(([key]) => info?.[key] === false).map(([, what]) => what);
  // Without swap on the machine, the memory limit is complete.
  if (info?.SwapLimit === false && info.MemoryLimit !== false && isSwapping) lacking.push('swap');
  return lacking.join(' and ');
}

/**
 * @param {unknown} warnings of a container's creation
 * @returns {string} the first one about limits, '' = none
 */
function warningOf(warnings) {
  const all = Array.isArray(warnings) ? warnings.map(String) : [];
  return (all.find((each) => ABOUT_LIMITS.test(each)) ?? '').slice(0, 300);
}

/**
 * Returns the control group in which each tenant has one of its own beside that of the front. An engine puts all of its
 * containers into one, to which the kernel gives the processor: what a busy tenant uses counts for the others, too, so
 * each of them waits after it was busy.
 * @param {any} info the engine's /info
 * @param {{ isRootless: boolean, chosen: string }} options chosen: by an administrator, for all containers
 * @returns {string} '' = that of the engine
 */
function parentOf(info, { isRootless, chosen }) {
  // The groups of a user are below that of its session.
  if (isRootless || chosen) return '';
  return PARENTS.get(info?.CgroupDriver) ?? '';
}

/** A slice as systemd names it: the root, or words with dashes between them. */
const SLICE = /^(-|[\w.]+(-[\w.]+)*)\.slice$/;

/**
 * @param {any} info the engine's /info
 * @param {string | undefined} parent control group that SEGANET_TENANTS_CGROUP names
 * @returns {string} why the engine refuses it, '' = it does not
 */
function parentProblem(info, parent) {
  if (!parent || info?.CgroupDriver !== 'systemd' || SLICE.test(parent)) return '';
  return `SEGANET_TENANTS_CGROUP is ${parent}, but systemd makes the control groups of containers here. It takes only names of slices, such as seganet.slice`;
}

module.exports = { parentOf, parentProblem, unlimitedOf, warningOf };
