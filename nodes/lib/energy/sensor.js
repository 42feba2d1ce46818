'use strict';
// Finds the best power sensor of the machine, and computes the energy between two readings.

const { number } = require('./files');
const { findHwmon } = require('./hwmon');
const { findRapl } = require('./rapl');

/**
 * A file with a reading.
 * @typedef {object} Channel
 * @property {string} file
 * @property {'power' | 'energy'} kind µW now, or µJ so far
 * @property {number} most a higher value is invalid
 * @property {number} range µJ at which the counter wraps to 0, 0 = unknown
 */
/** @typedef {{source: string, channels: Channel[]}} Sensor source: for display, such as rapl package-0 */
/** @typedef {{atMs: number, values: number[]}} Reading by channel */

/** Longest time between two readings. Over a longer time, the average of two power readings is meaningless. */
const MAX_GAP_MS = 10_000;

/**
 * Finds the best readable sensor: the power supply, the platform, or the processor.
 * @param {string} root such as /sys
 * @returns {Promise<Sensor | null>}
 */
async function findSensor(root) {
  return (await findHwmon(root)) ?? (await findRapl(root))[0] ?? null;
}

/**
 * @param {Sensor} sensor
 * @param {() => number} now ms
 * @returns {Promise<Reading | null>} null = the sensor is gone, or its value is invalid
 */
async function readSensor({ channels }, now) {
  const values = await Promise.all(channels.map(({ file, most }) => number(file, most)));
  return values.some(Number.isNaN) ? null : { atMs: now(), values };
}

/**
 * @param {Sensor} sensor
 * @param {Reading} before
 * @param {Reading} after
 * @returns {number} J; NaN = unknown
 */
function joulesBetween({ channels }, before, after) {
  const ms = after.atMs - before.atMs;
  const micro = channels.map(({ kind, range }, i) => {
    const [from, to] = [before.values[i], after.values[i]];
    if (kind === 'power') return ms <= MAX_GAP_MS ? (((from + to) / 2) * ms) / 1000 : NaN;
    if (to >= from) return to - from;
    // The counter wrapped once. If the range is unknown or exceeded, it was reset.
    return range >= from ? to + range - from : NaN;
  });
  return micro.reduce((sum, each) => sum + each, 0) / 1e6;
}

module.exports = { findSensor, joulesBetween, readSensor };
