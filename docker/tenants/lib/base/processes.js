'use strict';
// Reads processes from /proc. The kernel reuses process ids, so a process is identified by its id, its start time and
// the boot.

const fs = require('node:fs');

/**
 * @typedef {object} Stat
 * @property {string} state R, S, T (stopped by a signal), Z (ended, not yet collected) …; of a thread that has not
 *   ended, if there is one
 * @property {string} place folder of this thread in /proc
 * @property {number} parent
 * @property {number} group process group
 * @property {number} threads that have not ended; at least 1
 * @property {string} start clock ticks since boot
 */

const PAGE_BYTES = 4096;

/**
 * The first thread of a process may end, and be a zombie, before the others. Its folder then shows no memory, no
 * environment, and not that the process is stopped; those of the other threads do.
 * @param {number} pid
 * @returns {Stat | null} null: there is no such process
 */
function statOf(pid) {
  const first = statIn(`/proc/${pid}`);
  if (first?.state !== 'Z' || first.threads <= 1) return first;
  for (const thread of numbersIn(`/proc/${pid}/task`)) {
    const other = statIn(`/proc/${pid}/task/${thread}`);
    if (other && !isEnded(other)) return { ...first, state: other.state, place: other.place };
  }
  return first;
}

/** @param {string} place folder in /proc @returns {Stat | null} */
function statIn(place) {
  try {
    const text = fs.readFileSync(`${place}/stat`, 'utf8');
    // The name is in parentheses and may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return {
      place,
      state: fields[0],
      parent: Number(fields[1]),
      group: Number(fields[2]),
      threads: Number(fields[17]),
      start: fields[19]
    };
  } catch {
    return null;
  }
}

/** @param {Stat} stat @returns {number} bytes of memory that it shares with no file, and no other process */
function memoryOf({ place }) {
  try {
    const [, resident, shared] = fs.readFileSync(`${place}/statm`, 'utf8').split(' ');
    return (Number(resident) - Number(shared)) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** @returns {string} changes with each boot */
function bootId() {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** @typedef {{ pid: number, start: string, boot: string }} Identity of a process, for ever */

/** @param {number} pid @returns {Identity | null} */
function identityOf(pid) {
  const stat = statOf(pid);
  return stat && { pid, start: stat.start, boot: bootId() };
}

/** @param {Stat} stat of one thread */
const isEnded = ({ state }) => state === 'Z' || state === 'X';

/** True if all threads have ended, and so all ports and files are closed. @param {Stat} stat */
const isOver = ({ state, threads }) => (state === 'Z' && threads <= 1) || state === 'X';

/** @param {Identity} identity @returns {Stat | null} null: this process has ended */
function livingStat({ pid, start, boot }) {
  if (!Number.isInteger(pid) || pid <= 1 || boot !== bootId()) return null;
  const stat = statOf(pid);
  return stat && stat.start === start && !isOver(stat) ? stat : null;
}

/** @returns {number[]} all process ids */
const allPids = () => numbersIn('/proc');

/** @param {string} folder @returns {number[]} */
function numbersIn(folder) {
  try {
    return fs.readdirSync(folder).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** @returns {Map<number, number>} parent of each process */
function parentsOf() {
  return new Map(
    allPids().flatMap((pid) => {
      const stat = statOf(pid);
      return stat ? [[pid, stat.parent]] : [];
    })
  );
}

/** Processes that one turn of the event loop reads, which has other work, such as waking a tenant. */
const SLICE = 16;

/** @typedef {{ bytes: number, pids: number[] }} Group a process group: its memory and its living processes */

/** @returns {Promise<Map<number, Group>>} by process group */
async function groups() {
  /** @type {Map<number, Group>} */
  const found = new Map();
  for (const [index, pid] of allPids().entries()) {
    if (index % SLICE === SLICE - 1) await new Promise((resolve) => setImmediate(resolve));
    const stat = statOf(pid);
    if (!stat || isOver(stat)) continue;
    const group = found.get(stat.group) ?? { bytes: 0, pids: [] };
    group.bytes += memoryOf(stat);
    group.pids.push(pid);
    found.set(stat.group, group);
  }
  return found;
}

/**
 * Finds the processes of this user that started with a variable.
 * @param {string} name
 * @returns {Map<string, number[]>} process ids by the variable's value
 */
function variables(name) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  const begin = `${name}=`;
  for (const pid of allPids()) {
    const text = environmentOf(pid);
    // Most processes do not have it, and need not be split.
    if (!text.includes(begin)) continue;
    const line = text.split('\0').find((each) => each.startsWith(begin));
    if (line === undefined) continue;
    const value = line.slice(begin.length);
    found.set(value, [...(found.get(value) ?? []), pid]);
  }
  return found;
}

/**
 * The begin of one environment: a process may have megabytes of it. The memory is used for all of them, because there
 * are many processes, and the keeper reads them all at each start of a tenant.
 */
const ENVIRONMENT = Buffer.alloc(128 << 10);

/** @param {string} file of /proc @returns {string} its begin */
function beginOf(file) {
  const fd = fs.openSync(file, 'r');
  try {
    let length = 0;
    for (let read = -1; read !== 0 && length < ENVIRONMENT.length; length += read)
      read = fs.readSync(fd, ENVIRONMENT, length, ENVIRONMENT.length - length, length);
    return ENVIRONMENT.toString('utf8', 0, length);
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {number} pid @returns {string} '' also of a process of another user */
function environmentOf(pid) {
  const places = [() => `/proc/${pid}`, () => statOf(pid)?.place];
  for (const place of places) {
    try {
      const text = beginOf(`${place()}/environ`);
      if (text !== '') return text;
    } catch (error) {
      // A thread that has ended has none (ESRCH).
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EACCES') return '';
    }
  }
  return '';
}

module.exports = { statOf, identityOf, livingStat, memoryOf, groups, parentsOf, variables };
