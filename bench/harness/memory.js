'use strict';
// Memory of a process group, from the kernel's sum of its mappings (proc(5), smaps_rollup).

const fs = require('node:fs');
const { groupPids } = require('./proc');

/**
 * @typedef {object} Memory bytes
 * @property {number} rss pages in memory, including shared ones
 * @property {number} pss the same, with a shared page divided among its processes
 * @property {number} privateDirty memory that the end of the group would free
 */

/** @type {[keyof Memory, string][]} */
const fields = [
  ['rss', 'Rss'],
  ['pss', 'Pss'],
  ['privateDirty', 'Private_Dirty']
];

/** @param {string} text of smaps_rollup @returns {Memory} */
function parseRollup(text) {
  const values = fields.map(([key, name]) => {
    const found = text.match(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm'));
    return [key, found ? Number(found[1]) * 1024 : 0];
  });
  return /** @type {Memory} */ (Object.fromEntries(values));
}

/**
 * Walks through all mappings, which takes milliseconds: do not call it during a measurement.
 * @param {number[]} groups
 * @returns {Memory}
 */
function readMemory(groups) {
  const sum = { rss: 0, pss: 0, privateDirty: 0 };
  for (const pid of groups.flatMap(groupPids)) {
    try {
      const own = parseRollup(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
      for (const [key] of fields) sum[key] += own[key];
    } catch {
      // it ended meanwhile
    }
  }
  return sum;
}

module.exports = { readMemory, parseRollup };
