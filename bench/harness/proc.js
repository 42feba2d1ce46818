'use strict';
// Reads the kernel's data about a process group: CPU time, also by thread, and resident memory. A Child leads its own
// group, so the group is the whole system, including launcher and helpers.

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
  for (const { stat } of groupStats([group])) {
    sum.processes += 1;
    sum.cpuSeconds += (Number(stat[14 - 3]) + Number(stat[15 - 3])) / ticksPerSecond;
    sum.rssBytes += Number(stat[24 - 3]) * pageBytes;
  }
  return sum;
}

/**
 * Walks through /proc once for all groups, because the walk is most of the cost.
 * @param {number[]} groups @returns {{pid: number, comm: string, stat: string[]}[]} stat: from field 3 of proc(5) on
 */
function groupStats(groups) {
  const found = [];
  for (const entry of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const { comm, stat } = parseStat(fs.readFileSync(`/proc/${entry}/stat`, 'utf8'));
      if (groups.includes(Number(stat[5 - 3]))) found.push({ pid: Number(entry), comm, stat });
    } catch {
      // it ended meanwhile
    }
  }
  return found;
}

/** @param {number} group @returns {number[]} its processes */
const groupPids = (group) => groupStats([group]).map(({ pid }) => pid);

/**
 * The totals of a thread.
 * @typedef {object} Thread
 * @property {number} group of its process @property {string} process name of its process @property {string} name
 * @property {number} cpuSeconds user and system, in nanoseconds where the kernel has schedstat, else in ticks
 * @property {number} waitSeconds runnable without a core
 * @property {number} voluntary context switches because it had nothing to do, equal to its wake-ups
 * @property {number} involuntary context switches because another thread took its core
 * @property {number} minorFaults
 *
 * @typedef {Map<string, Thread>} Threads 'pid/tid' → thread
 */

/**
 * Returns comm of proc(5), then the fields from 3 (state) on.
 * @param {string} text
 * @returns {{comm: string, stat: string[]}}
 */
function parseStat(text) {
  // The command may contain spaces and parentheses, so it ends at the last one.
  const [from, to] = [text.indexOf('('), text.lastIndexOf(')')];
  return { comm: text.slice(from + 1, to), stat: text.slice(to + 2).split(' ') };
}

/**
 * Reads three small files per thread. A thread that has ended is missing, but its process's sum still includes its
 * time.
 * @param {number[]} groups @returns {Threads}
 */
function readThreads(groups) {
  const found = /** @type {Threads} */ (new Map());
  for (const { pid, comm, stat } of groupStats(groups)) {
    const group = Number(stat[5 - 3]);
    for (const tid of entries(`/proc/${pid}/task`)) {
      try {
        found.set(`${pid}/${tid}`, { group, process: comm, ...readThread(`/proc/${pid}/task/${tid}`) });
      } catch {
        // it ended meanwhile
      }
    }
  }
  return found;
}

/** @param {string} folder @returns {string[]} empty if the folder no longer exists */
function entries(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/** @param {string} folder of a task */
function readThread(folder) {
  const { comm, stat } = parseStat(fs.readFileSync(`${folder}/stat`, 'utf8'));
  const status = fs.readFileSync(`${folder}/status`, 'utf8');
  /** @param {string} name */
  const count = (name) => Number(status.match(new RegExp(`^${name}:\\s*(\\d+)`, 'm'))?.[1] ?? 0);
  const ticks = (Number(stat[14 - 3]) + Number(stat[15 - 3])) / ticksPerSecond;
  const [ran, waited] = schedstat(folder);
  return {
    name: comm,
    cpuSeconds: ran > 0 ? ran / 1e9 : ticks,
    waitSeconds: waited / 1e9,
    voluntary: count('voluntary_ctxt_switches'),
    involuntary: count('nonvoluntary_ctxt_switches'),
    minorFaults: Number(stat[10 - 3])
  };
}

/**
 * Returns the nanoseconds on a core and in the run queue; 0 if the kernel does not count them.
 * @param {string} folder
 * @returns {number[]}
 */
function schedstat(folder) {
  try {
    return fs.readFileSync(`${folder}/schedstat`, 'utf8').split(' ').map(Number);
  } catch {
    return [0, 0];
  }
}

/**
 * Returns the difference of two readings, with threads of one name together (V8's helpers, libuv's pool), busiest
 * first.
 * @typedef {{process: string, name: string, threads: number, cores: number, waiting: number, wakesPerSecond: number,
 *            preemptedPerSecond: number, faultsPerSecond: number}} ThreadUse cores: 1 = a whole core all the time
 * @param {Threads} before @param {Threads} after @param {number} seconds @returns {ThreadUse[]}
 */
function threadUse(before, after, seconds) {
  const found = /** @type {Map<string, ThreadUse>} */ (new Map());
  for (const [id, thread] of after) {
    const { process, name } = thread;
    const key = `${process}/${name}`;
    const use = found.get(key) ?? {
      process,
      name,
      threads: 0,
      cores: 0,
      waiting: 0,
      wakesPerSecond: 0,
      preemptedPerSecond: 0,
      faultsPerSecond: 0
    };
    found.set(key, use);
    const old = before.get(id); // absent: the thread started meanwhile
    /** @param {'cpuSeconds' | 'waitSeconds' | 'voluntary' | 'involuntary' | 'minorFaults'} field */
    const more = (field) => (thread[field] - (old ? old[field] : 0)) / seconds;
    use.threads += 1;
    use.cores += more('cpuSeconds');
    use.waiting += more('waitSeconds');
    use.wakesPerSecond += more('voluntary');
    use.preemptedPerSecond += more('involuntary');
    use.faultsPerSecond += more('minorFaults');
  }
  return [...found.values()].sort((a, b) => b.cores - a.cores);
}

/**
 * Returns the CPU time of a group in nanoseconds resolution. The kernel reports a process's sum in truncated ticks of
 * 10 ms, so sixty-four processes that work 9 ms each would show 0. The times of threads are exact, but those of ended
 * threads are only in the sum. Reads a small file per thread.
 * @param {number} group @returns {number} seconds
 */
function readCpu(group) {
  let seconds = 0;
  for (const { pid, stat } of groupStats([group])) {
    const ticks = (Number(stat[14 - 3]) + Number(stat[15 - 3])) / ticksPerSecond;
    const exact = entries(`/proc/${pid}/task`).map((tid) => schedstat(`/proc/${pid}/task/${tid}`)[0] / 1e9);
    seconds += Math.max(
      ticks,
      exact.reduce((sum, each) => sum + each, 0)
    );
  }
  return seconds;
}

/** @param {number} pid @returns {number} seconds of one process without its group, in ticks */
function processCpu(pid) {
  const { stat } = parseStat(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return (Number(stat[14 - 3]) + Number(stat[15 - 3])) / ticksPerSecond;
}

/** @param {number} pid @returns {number} resident bytes of one process without its group */
function processRss(pid) {
  const { stat } = parseStat(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return Number(stat[24 - 3]) * pageBytes;
}

/**
 * Returns the CPU time of all processes on this machine, including steal time.
 * @returns {number} seconds of all cores
 */
function machineSeconds() {
  const line = fs.readFileSync('/proc/stat', 'utf8').split('\n', 1)[0];
  const [user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

/** @param {number[]} groups */
function readGroups(groups) {
  return groups.map(readGroup).reduce((a, b) => ({
    processes: a.processes + b.processes,
    cpuSeconds: a.cpuSeconds + b.cpuSeconds,
    rssBytes: a.rssBytes + b.rssBytes
  }));
}

/**
 * Returns the bytes that the group's processes caused to be written to storage, as the kernel attributes them. This can
 * mislead (large folios count in full, the file system's own writes do not count); the block device is more accurate.
 * @param {number} group @returns {number}
 */
function writtenBytes(group) {
  let sum = 0;
  for (const { pid } of groupStats([group])) {
    try {
      const found = fs.readFileSync(`/proc/${pid}/io`, 'utf8').match(/^write_bytes: (\d+)/m);
      sum += found ? Number(found[1]) : 0;
    } catch {
      // it ended meanwhile, or is not readable
    }
  }
  return sum;
}

/** Returns the cores that this process may use. @returns {number[]} */
function allowedCores() {
  const status = fs.readFileSync('/proc/self/status', 'utf8');
  const list = /** @type {RegExpMatchArray} */ (status.match(/Cpus_allowed_list:\s*(\S+)/))[1];
  return list.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Returns the hard limit of open files of this process. @returns {number} */
function hardFileLimit() {
  const limits = fs.readFileSync('/proc/self/limits', 'utf8');
  const found = limits.match(/Max open files\s+\S+\s+(\S+)/);
  return !found || found[1] === 'unlimited' ? Infinity : Number(found[1]);
}

module.exports = {
  writtenBytes,
  readGroup,
  readCpu,
  processCpu,
  processRss,
  readGroups,
  readThreads,
  threadUse,
  machineSeconds,
  parseStat,
  groupPids,
  allowedCores,
  hardFileLimit
};
