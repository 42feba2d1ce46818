'use strict';
// Evaluates the counters of a run: when each path carried data.

const { PAPER } = require('./lab');

/**
 * @typedef {{at: number, p1: {tx: number}, p2: {tx: number}}} Sample at: ms since the start of the load; tx: bytes
 *        since the start of the interface
 */
/** @typedef {Pick<import('./run').PathsResult, 'bytes' | 'marks' | 'connects' | 'gapMs'>} Result */

/** A path counts as carrying if it carries this fraction of its rate for this time. */
const STRETCH_MS = 500;
const PART = 0.5;

/** @param {(number | undefined)[]} values @returns {number} the largest; undefined counts as Infinity */
const worst = (values) => Math.max(...values.map((value) => value ?? Infinity));

/** Returns the gap of the class that waited longest. @param {Pick<Result, 'gapMs'>} result */
const gapOf = ({ gapMs }) => worst(Object.values(gapMs));

/** Returns the most connects of one session; 0 = none connected. @param {Pick<Result, 'connects'>} result */
const connectsInAll = ({ connects }) => Math.max(0, ...Object.values(connects));

/**
 * Returns the bytes on a link between two times.
 * @param {Sample[]} bytes @param {1 | 2} i @param {number} fromMs @param {number} toMs
 */
function sentBetween(bytes, i, fromMs, toMs) {
  const key = /** @type {'p1' | 'p2'} */ (`p${i}`);
  const window = bytes.filter(({ at }) => at >= fromMs && at <= toMs);
  if (window.length < 2) return { bytes: 0, ms: 0 };
  const [from, to] = [window[0], window[window.length - 1]];
  return { bytes: to[key].tx - from[key].tx, ms: to.at - from.at };
}

/**
 * Returns the fraction of its rate that a link carried in STRETCH_MS from `fromMs` on.
 * @param {Sample[]} bytes @param {1 | 2} i @param {number} fromMs
 */
function partFrom(bytes, i, fromMs) {
  const sent = sentBetween(bytes, i, fromMs, fromMs + STRETCH_MS);
  return sent.ms < STRETCH_MS / 2 ? 0 : (sent.bytes * 8) / 1000 / sent.ms / PAPER[i - 1];
}

/**
 * Returns the ms from the path's return until both links carry at least half of their rates for half a second, which is
 * not included. undefined = never.
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
