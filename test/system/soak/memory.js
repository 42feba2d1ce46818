'use strict';
// Memory, threads and descriptors of processes and their children, as the kernel counts them.

const fs = require('node:fs');
const { groupPids, readGroups } = require('../../../bench/harness/proc');

const KIB = 1024;

/** @param {string} text @param {string} name @returns {number} bytes */
function kib(text, name) {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * KIB;
}

/** @param {number[]} groups process groups */
function memoryOf(groups) {
  const sums = {
    rss: 0,
    anonymous: 0,
    threads: 0,
    descriptors: 0,
    cpuSeconds: readGroups(groups).cpuSeconds
  };
  for (const pid of groups.flatMap((group) => groupPids(group))) {
    try {
      const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      sums.rss += kib(rollup, 'Rss');
      sums.anonymous += kib(rollup, 'Anonymous');
      sums.threads += fs.readdirSync(`/proc/${pid}/task`).length;
      sums.descriptors += fs.readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      // It has ended.
    }
  }
  return sums;
}

module.exports = { memoryOf };
