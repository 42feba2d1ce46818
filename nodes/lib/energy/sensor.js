'use strict';
// Which sensor tells what the machine takes, and what it has taken since the last look.

const { number } = require('./files');
const { findHwmon } = require('./hwmon');
const { findRapl } = require('./rapl');

/**
 * A file that is read. @typedef {object} Channel
 * @property {string} file
 * @property {'power' | 'energy'} kind µW now, or µJ so far
 * @property {number} most more is no reading
 * @property {number} range µJ at which it begins at 0 again, 0 = it is not known
 */
/** @typedef {{source: string, channels: Channel[]}} Sensor source: for people, such as rapl package-0 */
/** @typedef {{atMs: number, values: number[]}} Reading by channel */

/** Between two readings that are further apart nobody knows what the power was. */
const MAX_GAP_MS = 10_000;

/** The best of those that there are and that we may read: the machine's supply, the platform, the processor. @param {string} root such as /sys @returns {Promise<Sensor | null>} */
async function findSensor(root) {
  return (await findHwmon(root)) ?? (await findRapl(root))[0] ?? null;
}

/** @param {Sensor} sensor @param {() => number} now ms @returns {Promise<Reading | null>} null = it is gone, or says nothing that makes sense */
async function readSensor({ channels }, now) {
  const values = await Promise.all(channels.map(({ file, most }) => number(file, most)));
  return values.some(Number.isNaN) ? null : { atMs: now(), values };
}

/** @param {Sensor} sensor @param {Reading} before @param {Reading} after @returns {number} J; NaN = it cannot be told */
function joulesBetween({ channels }, before, after) {
  const ms = after.atMs - before.atMs;
  const micro = channels.map(({ kind, range }, i) => {
    const [from, to] = [before.values[i], after.values[i]];
    if (kind === 'power') return ms <= MAX_GAP_MS ? (((from + to) / 2) * ms) / 1000 : NaN;
    if (to >= from) return to - from;
    // It went round once; where the range is not known, or it was more, it was reset.
    return range >= from ? to + range - from : NaN;
  });
  return micro.reduce((sum, each) => sum + each, 0) / 1e6;
}

module.exports = { findSensor, joulesBetween, readSensor };
