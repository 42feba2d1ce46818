'use strict';
// What the kernel knows of a process group: CPU time and resident memory. A child of ours is the leader of
// its own group, so the group is the whole system, launcher and helpers included.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const pageBytes = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));

/**
 * @param {number} group
 * @returns {{processes: number, cpuSeconds: number, rssBytes: number}}
 */
function readGroup(group) {
  const sum = { processes: 0, cpuSeconds: 0, rssBytes: 0 };
  for (const { stat } of groupStats(group)) {
    sum.processes += 1;
    sum.cpuSeconds += (Number(stat[14 - 3]) + Number(stat[15 - 3])) / ticksPerSecond;
    sum.rssBytes += Number(stat[24 - 3]) * pageBytes;
  }
  return sum;
}

/** @param {number} group @returns {{pid: number, stat: string[]}[]} stat: from field 3 of proc(5) on */
function groupStats(group) {
  const found = [];
  for (const entry of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const text = fs.readFileSync(`/proc/${entry}/stat`, 'utf8');
      // After the command, which may hold spaces and parentheses: state is field 3.
      const stat = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (Number(stat[5 - 3]) === group) found.push({ pid: Number(entry), stat });
    } catch {
      // it ended meanwhile
    }
  }
  return found;
}

/** @param {number} group @returns {number[]} its processes */
const groupPids = (group) => groupStats(group).map(({ pid }) => pid);

/** @param {number[]} groups */
function readGroups(groups) {
  return groups.map(readGroup).reduce((a, b) => ({
    processes: a.processes + b.processes,
    cpuSeconds: a.cpuSeconds + b.cpuSeconds,
    rssBytes: a.rssBytes + b.rssBytes
  }));
}

/**
 * Bytes that the group's processes caused to be written to storage, as the kernel attributes them. It can mislead
 * (large folios count whole, the file system's own writes do not count): the block device knows better.
 * @param {number} group @returns {number}
 */
function writtenBytes(group) {
  let sum = 0;
  for (const { pid } of groupStats(group)) {
    try {
      const found = fs.readFileSync(`/proc/${pid}/io`, 'utf8').match(/^write_bytes: (\d+)/m);
      sum += found ? Number(found[1]) : 0;
    } catch {
      // it ended meanwhile, or is not ours to read
    }
  }
  return sum;
}

/** Cores that this process may use. @returns {number[]} */
function allowedCores() {
  const status = fs.readFileSync('/proc/self/status', 'utf8');
  const list = /** @type {RegExpMatchArray} */ (status.match(/Cpus_allowed_list:\s*(\S+)/))[1];
  return list.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Hard limit of open files of this process. @returns {number} */
function hardFileLimit() {
  const limits = fs.readFileSync('/proc/self/limits', 'utf8');
  const found = limits.match(/Max open files\s+\S+\s+(\S+)/);
  return !found || found[1] === 'unlimited' ? Infinity : Number(found[1]);
}

module.exports = { writtenBytes, readGroup, readGroups, groupPids, allowedCores, hardFileLimit };
