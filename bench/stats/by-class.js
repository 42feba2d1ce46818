'use strict';
// What the samples of runs say of each class.

const { percentile } = require('./latency');

/** @typedef {import('./latency').Sample} Sample */

/**
 * Latencies of the records of a class that were meant to be sent in the runs' windows, ms. All runs together: a p99 of few
 * records is better taken once from all of them.
 * @param {{samples: Sample[], fromMs: number, toMs: number}[]} runs @param {number} cls
 */
function latencyOf(runs, cls) {
  const values = runs.flatMap(({ samples, fromMs, toMs }) =>
    samples
      .filter((sample) => sample.class === cls && sample.intendedMs >= fromMs && sample.intendedMs < toMs)
      .map(({ intendedMs, arrivedMs }) => arrivedMs - intendedMs)
  );
  return {
    count: values.length,
    p50: percentile(values, 0.5),
    p99: percentile(values, 0.99),
    max: percentile(values, 1)
  };
}

/**
 * What arrived of a class in [fromMs, toMs).
 * @param {Sample[]} samples @param {number | undefined} cls undefined = of all classes
 * @param {number} fromMs @param {number} toMs
 * @returns {{records: number, bytes: number, recordsPerS: number, bytesPerS: number}} bytes: of the payloads
 */
function arrivalsOf(samples, cls, fromMs, toMs) {
  let records = 0;
  let bytes = 0;
  for (const sample of samples) {
    if (cls !== undefined && sample.class !== cls) continue;
    if (sample.arrivedMs < fromMs || sample.arrivedMs >= toMs) continue;
    records += 1;
    bytes += sample.bytes ?? 0;
  }
  const seconds = (toMs - fromMs) / 1000;
  return { records, bytes, recordsPerS: records / seconds, bytesPerS: bytes / seconds };
}

/**
 * Whole windows of `lengthMs` from `fromMs` on. Generators start within milliseconds of each other, so the last one may be short
 * of that.
 * @param {number} fromMs @param {number} toMs @param {number} lengthMs @returns {[number, number][]}
 */
function windows(fromMs, toMs, lengthMs) {
  const count = Math.floor((toMs - fromMs) / lengthMs + 0.05);
  return Array.from({ length: count }, (_, i) => [fromMs + i * lengthMs, fromMs + (i + 1) * lengthMs]);
}

module.exports = { latencyOf, arrivalsOf, windows };
