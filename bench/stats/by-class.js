'use strict';
// Evaluates the samples of runs by class.

const { percentile } = require('./latency');

/** @typedef {import('./latency').Sample} Sample */

/**
 * Returns the latency of the records of a class whose intended time is in the runs' windows, ms. It pools all runs,
 * because each run alone has too few records for a p99.
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
 * Returns the arrivals of a class in [fromMs, toMs).
 * @param {Sample[]} samples @param {number | undefined} cls undefined = all classes
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
 * Returns windows of `lengthMs` from `fromMs` on. The last one may be slightly shorter, because generators start within
 * milliseconds of each other.
 * @param {number} fromMs @param {number} toMs @param {number} lengthMs @returns {[number, number][]}
 */
function windows(fromMs, toMs, lengthMs) {
  const count = Math.floor((toMs - fromMs) / lengthMs + 0.05);
  return Array.from({ length: count }, (_, i) => [fromMs + i * lengthMs, fromMs + (i + 1) * lengthMs]);
}

module.exports = { latencyOf, arrivalsOf, windows };
