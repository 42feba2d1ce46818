'use strict';
// The sink's samples: every alarm and some normal records, each with its times. They allow evaluating a period that is
// known only afterwards.

const fs = require('node:fs');

/**
 * @typedef {object} Sample
 * @property {boolean} alarm @property {number} intendedMs @property {number} arrivedMs @property {boolean} historical
 * @property {number} [class] 0 = unknown @property {number} [bytes] of the payload @property {number} [device]
 */

/** @param {string} file @returns {Sample[]} in order of arrival */
function readSamples(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [kind, intended, arrived, lane, cls, bytes, device] = line.split(' ').map(Number);
    return {
      alarm: kind === 1,
      intendedMs: intended / 1000,
      arrivedMs: arrived / 1000,
      historical: lane === 1,
      class: cls,
      bytes,
      device
    };
  });
}

/**
 * @param {number[]} values @param {number} fraction
 * @returns {number | undefined} the smallest value that a `fraction` of all does not exceed
 */
function percentile(values, fraction) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)];
}

/**
 * Returns the latency of live alarms whose intended time is in [fromMs, toMs).
 * @param {Sample[]} samples @param {number} fromMs @param {number} toMs
 */
function liveAlarms(samples, fromMs, toMs) {
  const values = samples
    .filter(({ alarm, historical }) => alarm && !historical)
    .filter(({ intendedMs }) => intendedMs >= fromMs && intendedMs < toMs)
    .map(({ intendedMs, arrivedMs }) => arrivedMs - intendedMs);
  return {
    count: values.length,
    p50: percentile(values, 0.5),
    p99: percentile(values, 0.99),
    max: percentile(values, 1)
  };
}

module.exports = { readSamples, percentile, liveAlarms };
