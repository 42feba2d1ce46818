'use strict';
// What each class may count on when more urgent ones take most of the link.

const { arrivalsOf, windows } = require('./by-class');

/** The engine's default weights: the share of what class 1 leaves. */
const weights = [0, 0, 8, 4, 1, 1, 1, 1, 1];

/**
 * Records a second by class, at least: its weight's part of what class 1 leaves; and where the link's own queue keeps a part
 * for the second session, the class's part of that when it is more.
 * @param {number[]} classes that wait, none of them 1
 * @param {number} left records a second that class 1 leaves
 * @param {number} [reserved] records a second that the queue keeps for the second session (classes 3 and less urgent)
 * @returns {Record<number, number>}
 */
function minima(classes, left, reserved = 0) {
  /** @param {number[]} of */
  const total = (of) => of.reduce((sum, cls) => sum + weights[cls], 0);
  const second = classes.filter((cls) => cls >= 3);
  return Object.fromEntries(
    classes.map((cls) => {
      const byWeight = (left * weights[cls]) / total(classes);
      const byQueue = second.includes(cls) ? (reserved * weights[cls]) / total(second) : 0;
      return [cls, Math.max(byWeight, byQueue)];
    })
  );
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
