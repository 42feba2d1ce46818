'use strict';
// Deleted files, which take space until the last process closes them.

const fs = require('node:fs');
const { setImmediate: turnOfLoop } = require('node:timers/promises');
const { parentsOf } = require('./processes');
const { BLOCK, ClosedError } = require('./folder-size');

/** Longest time without a turn of the loop: it has other work, such as the wake of another tenant. */
const SLICE_MS = 3;
/** Time for which one scan of all processes is valid, for many tenants in a row. */
const FRESH_MS = 1000;
/**
 * Descriptors that a scan examines, in multiples of the limit of one process: its threads usually share theirs, but
 * /proc shows all of them for each thread.
 */
const TABLES = 32;
/** Names that are read from the kernel at a time. */
const NAMES = 256;

/** @type {{ at: number, parents: Map<number, number> }} */
let seen = { at: -Infinity, parents: new Map() };

/** Lets the event loop run other work during a long scan. */
class Slices {
  #until = performance.now() + SLICE_MS;

  /** True if the event loop must run other work now. */
  get isOver() {
    return performance.now() >= this.#until;
  }

  async turn() {
    await turnOfLoop();
    this.#until = performance.now() + SLICE_MS;
  }
}

/**
 * Returns the space of deleted files that processes keep open on one file system. A thread may have descriptors of its
 * own, and nothing in /proc shows whether it does, so the scan covers each thread. It skips what this process may not
 * see (another user's descriptors).
 *
 * A tenant may have as many descriptors as processes, threads and their limits allow: hundreds of thousands for a few
 * kilobytes of its memory. So the scan is limited, and lets the event loop run other work meanwhile.
 * @param {Iterable<number>} pids
 * @param {string} folder on that file system
 * @param {{ files: number }} limits of the tenant
 * @returns {Promise<number>} bytes; 0 = there is no folder
 * @throws {ClosedError} with the rest of a sentence: there are more
 */
async function deletedBytes(pids, folder, { files }) {
  const most = TABLES * files;
  const dev = fs.statSync(folder, { throwIfNoEntry: false })?.dev;
  if (dev === undefined) return 0;
  /** A file counts once, however often it is open. @type {Map<number, number>} */
  const found = new Map();
  const slices = new Slices();
  let count = 0;
  for (const pid of pids) {
    for (const thread of await namesIn(`/proc/${pid}/task`, most)) {
      const descriptors = `/proc/${pid}/task/${thread}/fd`;
      for (const name of await namesIn(descriptors, most - count)) {
        if (++count > most)
          throw new ClosedError(
            `cannot be counted: its threads have more than ${most} open files (${TABLES} times limits.files)`
          );
        const stat = statOf(`${descriptors}/${name}`);
        if (stat?.dev === dev && stat.nlink === 0 && stat.isFile()) found.set(stat.ino, stat.blocks * BLOCK);
        if (slices.isOver) await slices.turn();
      }
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * @param {string} folder of /proc
 * @param {number} most
 * @returns {Promise<string[]>} one more at most; none if the process has ended, or is another user's
 */
async function namesIn(folder, most) {
  /** @type {string[]} */
  const names = [];
  try {
    // A list of all names at once could take much time and memory.
    for await (const { name } of await fs.promises.opendir(folder, { bufferSize: NAMES })) {
      names.push(name);
      if (names.length > most) break;
    }
  } catch {
    // It has ended meanwhile.
  }
  return names;
}

/** @param {string} link of a descriptor @returns {fs.Stats | null} of the file that is open */
function statOf(link) {
  try {
    return fs.statSync(link);
  } catch {
    return null;
  }
}

/**
 * Returns a process and all that it started. A process whose parent has ended gets the first one of its namespace as
 * its parent, so all processes of a container are below that.
 * @param {number} root
 * @returns {Set<number>}
 */
function descendants(root) {
  const now = performance.now();
  if (now - seen.at > FRESH_MS) seen = { at: now, parents: parentsOf() };
  const { parents } = seen;
  const all = new Set([root]);
  for (let before = 0; before !== all.size;) {
    before = all.size;
    for (const [pid, parent] of parents) if (all.has(parent)) all.add(pid);
  }
  return all;
}

module.exports = { TABLES, deletedBytes, descendants };
