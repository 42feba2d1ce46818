'use strict';
// The guaranteed rate of each class when more urgent ones take most of the link.

const { arrivalsOf, windows } = require('./by-class');

/** The engine's default weights, by class: they divide the rest that class 1 leaves. */
const weights = [0, 0, 8, 4, 1, 1, 1, 1, 1];

/**
 * Returns the minimum of records per second by class: the share of the rest by weight, whichever session serves the
 * class and whatever the link's queue guarantees that session; at least one batch in each aging time, which goes before
 * class 1.
 * @param {number[]} classes waiting classes, without class 1
 * @param {number} left records per second that class 1 leaves
 * @param {number} [overdue] records per second of a class that gets only one batch in each aging time
 * @returns {Record<number, number>}
 */
function minima(classes, left, overdue = 0) {
  const sum = classes.reduce((all, cls) => all + weights[cls], 0);
  return Object.fromEntries(classes.map((cls) => [cls, Math.max((left * weights[cls]) / sum, overdue)]));
}

/**
 * Returns the progress of a class by window.
 * @param {import('./latency').Sample[]} samples @param {number} cls
 * @param {number} fromMs @param {number} toMs @param {number} lengthMs
 */
function progress(samples, cls, fromMs, toMs, lengthMs) {
  const each = windows(fromMs, toMs, lengthMs).map(([from, to]) => arrivalsOf(samples, cls, from, to));
  const rates = each.map(({ recordsPerS }) => recordsPerS);
  return {
    windows: each,
    progressed: each.filter(({ records }) => records > 0).length,
    lowest: Math.min(...rates),
    mean: arrivalsOf(samples, cls, fromMs, toMs)
  };
}

module.exports = { minima, progress, weights };
