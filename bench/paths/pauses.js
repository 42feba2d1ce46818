'use strict';
// When nothing arrived, also after the load has ended: what is delayed for long arrives then.

/** Shorter ones are the rhythm of the load and of batches. */
const SHORTEST_MS = 200;

/** @typedef {{at: number, ms: number, atEnd?: boolean}} Pause at: ms since the start; atEnd: nothing arrived any more, until the load ended */

/**
 * @param {number[]} arrivals rising, ms since the start @param {number} fromMs what was before does not count
 * @param {number} endMs of the load: a pause that begins later is none
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
 * How long after something happened a record arrived again.
 * @param {Pause[]} pauses @param {number} ms since the start @returns {number} 0 = nothing had stopped; Infinity = never
 */
function wentOnAfter(pauses, ms) {
  const under = pauses.find(({ at, ms: length }) => at <= ms && at + length > ms);
  if (!under) return 0;
  return under.atEnd ? Infinity : under.at + under.ms - ms;
}

/** The longest that goes on, or begins, in the second after something happened. @param {Pause[]} pauses @param {number} ms since the start */
const around = (pauses, ms) =>
  longest(pauses.filter((each) => each.at <= ms + 1000 && each.at + each.ms > ms));

/** @param {number} ms @param {number} [digits] */
function seconds(ms, digits = 2) {
  if (Number.isNaN(ms)) return '–';
  return Number.isFinite(ms) ? (ms / 1000).toFixed(digits) : 'never';
}

/** The longest few, as they followed each other. @param {Pause[]} pauses @param {number} [count] */
function pauseList(pauses, count = 4) {
  const shown = [...pauses].sort((a, b) => b.ms - a.ms).slice(0, count);
  shown.sort((a, b) => a.at - b.at);
  const texts = shown.map(({ at, ms, atEnd }) => `${atEnd ? '≥ ' : ''}${seconds(ms)} (${seconds(at, 1)})`);
  return texts.join(', ') || `< ${seconds(SHORTEST_MS)}`;
}

module.exports = { SHORTEST_MS, around, longest, pauseList, pausesOf, seconds, wentOnAfter };
