'use strict';
// What the kernel knows of a process group: CPU time, also of each thread, and resident memory. A child of ours is
// the leader of its own group, so the group is the whole system, launcher and helpers included.

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

/** One walk through /proc for all of them: that is most of the cost. @param {number[]} groups @returns {{pid: number, comm: string, stat: string[]}[]} stat: from field 3 of proc(5) on */
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
 * A thread until now.
 * @typedef {object} Thread
 * @property {number} group of its process @property {string} process name of its process @property {string} name
 * @property {number} cpuSeconds user and system, to the nanosecond where the kernel has schedstat, else to its tick
 * @property {number} waitSeconds it could run and had no core
 * @property {number} voluntary context switches: it had nothing to do; as often it was woken
 * @property {number} involuntary context switches: another one took its core
 * @property {number} minorFaults
 *
 * @typedef {Map<string, Thread>} Threads 'pid/tid' → thread
 */

/** What proc(5) calls comm, then the fields from 3 (state) on. @param {string} text @returns {{comm: string, stat: string[]}} */
function parseStat(text) {
  // The command may hold spaces and parentheses: up to the last one.
  const [from, to] = [text.indexOf('('), text.lastIndexOf(')')];
  return { comm: text.slice(from + 1, to), stat: text.slice(to + 2).split(' ') };
}

/**
 * Reads three small files a thread. A thread that ended is no longer there (its process's own sum
 * still holds its time).
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

/** @param {string} folder @returns {string[]} nothing when it is gone */
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

/** Nanoseconds on a core and in the queue for one; 0 where the kernel does not count them. @param {string} folder @returns {number[]} */
function schedstat(folder) {
  try {
    return fs.readFileSync(`${folder}/schedstat`, 'utf8').split(' ').map(Number);
  } catch {
    return [0, 0];
  }
}

/**
 * What happened between two readings, threads of one name together (V8's helpers, libuv's pool), the busiest first.
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
      ...{ process, name, threads: 0, cores: 0, waiting: 0 },
      ...{ wakesPerSecond: 0, preemptedPerSecond: 0, faultsPerSecond: 0 }
    };
    found.set(key, use);
    const old = before.get(id); // absent: it began meanwhile
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
 * CPU time of a group to the nanosecond. The kernel tells a process's own sum in ticks of 10 ms, cut off: sixty-four
 * processes that work 9 ms each would have done nothing. Its threads' times are exact, but those of threads that ended
 * are only in the sum. Reads a small file a thread.
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

/** CPU time of everything that runs on this machine, what its host took included. @returns {number} seconds of all cores */
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
 * Bytes that the group's processes caused to be written to storage, as the kernel attributes them. It can mislead
 * (large folios count whole, the file system's own writes do not count): the block device knows better.
 * @param {number} group @returns {number}
 */
function writtenBytes(group) {
  let sum = 0;
  for (const { pid } of groupStats([group])) {
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

module.exports = {
  writtenBytes,
  readGroup,
  readCpu,
  readGroups,
  readThreads,
  threadUse,
  machineSeconds,
  parseStat,
  groupPids,
  allowedCores,
  hardFileLimit
};
