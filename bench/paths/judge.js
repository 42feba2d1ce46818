'use strict';
// What the counters of a run say of when paths carried what.

const { PAPER } = require('./lab');

/** @typedef {{at: number, p1: {tx: number}, p2: {tx: number}}} Sample ms since the start of the load, bytes since ever */
/** @typedef {Pick<import('./run').PathsResult, 'bytes' | 'marks' | 'connects' | 'gapMs'>} Result */

/** So long a path has to carry that much of its rate, to count as carrying. */
const STRETCH_MS = 500;
const PART = 0.5;

/** @param {(number | undefined)[]} values @returns {number} the largest; what is not known is the worst */
const worst = (values) => Math.max(...values.map((value) => value ?? Infinity));

/** Of the class that waited longest. @param {Pick<Result, 'gapMs'>} result */
const gapOf = ({ gapMs }) => worst(Object.values(gapMs));

/** The most that a session needed; 0 = none connected. @param {Pick<Result, 'connects'>} result */
const connectsInAll = ({ connects }) => Math.max(0, ...Object.values(connects));

/** Bytes on a cable between two times. @param {Sample[]} bytes @param {1 | 2} i @param {number} fromMs @param {number} toMs */
function sentBetween(bytes, i, fromMs, toMs) {
  const key = /** @type {'p1' | 'p2'} */ (`p${i}`);
  const window = bytes.filter(({ at }) => at >= fromMs && at <= toMs);
  if (window.length < 2) return { bytes: 0, ms: 0 };
  const [from, to] = [window[0], window[window.length - 1]];
  return { bytes: to[key].tx - from[key].tx, ms: to.at - from.at };
}

/** Part of its rate that a cable carried in the stretch from `fromMs` on. @param {Sample[]} bytes @param {1 | 2} i @param {number} fromMs */
function partFrom(bytes, i, fromMs) {
  const sent = sentBetween(bytes, i, fromMs, fromMs + STRETCH_MS);
  return sent.ms < STRETCH_MS / 2 ? 0 : (sent.bytes * 8) / 1000 / sent.ms / PAPER[i - 1];
}

/**
 * From the path's return to the first moment from which on both cables carry, for half a second, at least half of their rates; the
 * stretch is not counted. undefined = never.
 * @param {Pick<Result, 'bytes' | 'marks'>} result
 */
function backAfter({ bytes, marks }) {
  const back = marks.find(({ what }) => what.endsWith('back'))?.ms ?? Infinity;
  const found = bytes.find(
    ({ at }) => at >= back && [1, 2].every((i) => partFrom(bytes, /** @type {1 | 2} */ (i), at) >= PART)
  );
  return found && found.at - back;
}

module.exports = { backAfter, connectsInAll, gapOf, partFrom, sentBetween, worst };
