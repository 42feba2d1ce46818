'use strict';
// Decides whether the engines' workers make progress.

/** A worker stands still if it has made no progress for this time, ms; it does so several times a second. */
const STILL_MS = 2000;

/**
 * @typedef {object} Reading of one engine
 * @property {string} name
 * @property {number[]} silentMs by worker: time since it last made progress; -1 = it is starting
 */

/**
 * @param {Reading[]} engines
 * @returns {string} the first worker that stands still, as a sentence; '' = all make progress
 */
function stalledWorker(engines) {
  for (const { name, silentMs } of engines) {
    const worker = silentMs.findIndex((ms) => ms > STILL_MS);
    if (worker >= 0) return `Worker ${worker} of the engine ${name} makes no progress.`;
  }
  return '';
}

module.exports = { stalledWorker, STILL_MS };
