'use strict';
// Finds pauses without arrivals, also after the end of the load, when long-delayed records arrive.

/** Shorter pauses come from the load's period and from batches. */
const SHORTEST_MS = 200;

/**
 * @typedef {{at: number, ms: number, atEnd?: boolean}} Pause at: ms since the start; atEnd: it lasted to the end of the
 *        load
 */

/**
 * @param {number[]} arrivals rising, ms since the start @param {number} fromMs earlier arrivals do not count
 * @param {number} endMs of the load: a pause that begins later does not count
 * @returns {Pause[]}
 */
function pausesOf(arrivals, fromMs, endMs) {
  /** @type {Pause[]} */
  const pauses = [];
  let before = fromMs;
  for (const time of arrivals) {
    if (time < fromMs) continue;
    if (before < endMs && time - before >= SHORTEST_MS) pauses.push({ at: before, ms: time - before });
    before = time;
  }
  if (endMs - before >= SHORTEST_MS) pauses.push({ at: before, ms: endMs - before, atEnd: true });
  return pauses;
}

/** @param {Pause[]} pauses @returns {Pause} */
const longest = (pauses) => pauses.reduce((a, b) => (b.ms > a.ms ? b : a), { at: 0, ms: 0 });

/**
 * Returns the ms from an event to the next arrival.
 * @param {Pause[]} pauses @param {number} ms since the start @returns {number} 0 = no pause then; Infinity = no arrival
 */
function wentOnAfter(pauses, ms) {
  const under = pauses.find(({ at, ms: length }) => at <= ms && at + length > ms);
  if (!under) return 0;
  return under.atEnd ? Infinity : under.at + under.ms - ms;
}

/**
 * Returns the longest pause that continues, or begins, within one second after an event.
 * @param {Pause[]} pauses @param {number} ms since the start
 */
const around = (pauses, ms) =>
  longest(pauses.filter((each) => each.at <= ms + 1000 && each.at + each.ms > ms));

/** @param {number} ms @param {number} [digits] */
function seconds(ms, digits = 2) {
  if (Number.isNaN(ms)) return '–';
  return Number.isFinite(ms) ? (ms / 1000).toFixed(digits) : 'never';
}

/** Formats the longest pauses in order of time. @param {Pause[]} pauses @param {number} [count] */
function pauseList(pauses, count = 4) {
  const shown = [...pauses].sort((a, b) => b.ms - a.ms).slice(0, count);
  shown.sort((a, b) => a.at - b.at);
  const texts = shown.map(({ at, ms, atEnd }) => `${atEnd ? '≥ ' : ''}${seconds(ms)} (${seconds(at, 1)})`);
  return texts.join(', ') || `< ${seconds(SHORTEST_MS)}`;
}

module.exports = { SHORTEST_MS, around, longest, pauseList, pausesOf, seconds, wentOnAfter };
