'use strict';
// Files without a name, which take space until the last process closes them.

const fs = require('node:fs');
const { parentsOf } = require('./processes');
const { BLOCK } = require('./folder-size');

/** Processes that are read in one turn of the loop. */
const SLICE = 8;
/** Time for which a look at all processes counts: for many tenants in a row. */
const FRESH_MS = 1000;

/** @type {{ at: number, parents: Map<number, number> }} */
let seen = { at: -Infinity, parents: new Map() };

/**
 * Returns the space of deleted files that processes keep open on one file system. A thread may have descriptors of its
 * own, so each thread is looked at. What this process may not see (another user's descriptors) is left out.
 * @param {Iterable<number>} pids
 * @param {string} folder on that file system
 * @returns {Promise<number>} bytes; 0 = there is no folder
 */
async function deletedBytes(pids, folder) {
  const dev = fs.statSync(folder, { throwIfNoEntry: false })?.dev;
  if (dev === undefined) return 0;
  /** A file counts once, however often it is open. @type {Map<number, number>} */
  const found = new Map();
  let count = 0;
  for (const pid of pids) {
    if (++count % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      const descriptors = `/proc/${pid}/task/${thread}/fd`;
      for (const name of namesIn(descriptors)) {
        const stat = statOf(`${descriptors}/${name}`);
        if (stat?.dev === dev && stat.nlink === 0 && stat.isFile()) found.set(stat.ino, stat.blocks * BLOCK);
      }
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** @param {string} folder of /proc @returns {string[]} none if the process has ended, or is another user's */
function namesIn(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
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

module.exports = { deletedBytes, descendants };
