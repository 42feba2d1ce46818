'use strict';
// What each class may count on when more urgent ones take most of the link.

const { arrivalsOf, windows } = require('./by-class');

/** The engine's default weights: the share of what class 1 leaves. */
const weights = [0, 0, 8, 4, 1, 1, 1, 1, 1];

/**
 * Records a second by class, at least: its weight's part of what class 1 leaves, whichever session serves it and whatever the link's
 * queue keeps for that; and never less than the one batch in each aging time that goes before class 1.
 * @param {number[]} classes that wait, none of them 1
 * @param {number} left records a second that class 1 leaves
 * @param {number} [overdue] records a second of a class that gets nothing else: one batch in each aging time
 * @returns {Record<number, number>}
 */
function minima(classes, left, overdue = 0) {
  const sum = classes.reduce((all, cls) => all + weights[cls], 0);
  return Object.fromEntries(classes.map((cls) => [cls, Math.max((left * weights[cls]) / sum, overdue)]));
}

/**
 * How a class went on, window by window.
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
