'use strict';
// Limits that an engine does not enforce. It still creates the container, with a warning: on a Raspberry Pi OS
// without the control group for memory, for example, a tenant can then use all of it.

const fs = require('node:fs');

/** Keys of the engine's /info, and what is not limited if they are false. @type {[string, string][]} */
const NEEDED = [
  ['MemoryLimit', 'memory'],
  ['PidsLimit', 'processes']
];
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

module.exports = { unlimitedOf, warningOf };
