'use strict';
// What each class may count on when more urgent ones take most of the link.

const { arrivalsOf, windows } = require('./by-class');

/** The engine's default weights: the share of what class 1 leaves. */
const weights = [0, 0, 8, 4, 1, 1, 1, 1, 1];

/** With all that wait older than the engine's aging: each class counts like the one above it, none like class 1. */
const aged = weights.map((_, cls) => weights[Math.max(2, cls - 1)]);

/**
 * Records a second by class, at least, whether they have aged or not: its weight's part of what class 1 leaves. Where the link's own
 * queue keeps a part for the second session (classes 3 and less urgent), they have at least their parts of that, and class 2, which
 * shares the first session with class 1, only what is left without it.
 * @param {number[]} classes that wait, none of them 1
 * @param {number} left records a second that class 1 leaves
 * @param {number} [reserved] records a second that the queue keeps for the second session
 * @returns {Record<number, number>}
 */
function minima(classes, left, reserved = 0) {
  const second = classes.filter((cls) => cls >= 3);
  /** @param {number} cls @param {number[]} of @param {number[]} weight */
  const part = (cls, of, weight) => weight[cls] / of.reduce((sum, each) => sum + weight[each], 0);
  /** @param {number} cls @param {number[]} weight */
  const least = (cls, weight) => {
    const byWeight = left * part(cls, classes, weight);
    return second.includes(cls)
      ? Math.max(byWeight, reserved * part(cls, second, weight))
      : Math.min(byWeight, Math.max(0, left - reserved));
  };
  return Object.fromEntries(classes.map((cls) => [cls, Math.min(least(cls, weights), least(cls, aged))]));
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
