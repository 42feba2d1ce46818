'use strict';
// State of the machine itself: steal time, throttling, frequency governor.

const fs = require('node:fs');
const os = require('node:os');

/** @param {string} file @returns {string} '' if there is no such file */
function readFile(file) {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

/** @typedef {{total: number, steal: number, throttles: number}} MachineTimes */

/** Sums over all cores, in the kernel's ticks. @param {string} [text] of /proc/stat @returns {MachineTimes} */
function machineTimes(text = readFile('/proc/stat')) {
  // proc(5): user nice system idle iowait irq softirq steal; guest time is in user already
  const ticks = (text.split('\n')[0].match(/\d+/g) ?? []).slice(0, 8).map(Number);
  const throttles = os
    .cpus()
    .map((_, core) =>
      Number(readFile(`/sys/devices/system/cpu/cpu${core}/thermal_throttle/core_throttle_count`))
    );
  return {
    total: ticks.reduce((sum, each) => sum + each, 0),
    steal: ticks[7] ?? 0,
    throttles: throttles.reduce((sum, each) => sum + each, 0)
  };
}

/** @param {MachineTimes} before @param {MachineTimes} after */
function machineUse(before, after) {
  const total = after.total - before.total;
  return {
    /** Fraction of the time of all cores that the hypervisor gave to others. */
    steal: total > 0 ? (after.steal - before.steal) / total : 0,
    throttled: after.throttles - before.throttles
  };
}

/** @returns {string[]} distinct governors of the cores; [] if the kernel has none, as in most virtual machines */
function governors() {
  const each = os
    .cpus()
    .map((_, core) => readFile(`/sys/devices/system/cpu/cpu${core}/cpufreq/scaling_governor`));
  return [...new Set(each)].filter(Boolean);
}

module.exports = { machineTimes, machineUse, governors };
