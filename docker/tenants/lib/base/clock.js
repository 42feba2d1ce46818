'use strict';

/**
 * Time as the keeper uses it. Every deadline uses `now`, which a change of the system's date does not move.
 * @typedef {object} Clock
 * @property {() => number} now monotonic, ms
 * @property {() => number} wall ms since 1970
 * @property {(ms: number, call: () => void) => () => void} timer calls once after this time; returns the cancellation
 */

/** Longest delay of setTimeout, which uses 1 ms for any longer one. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** @type {Clock} */
const systemClock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  timer: (ms, call) => {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), MAX_DELAY_MS));
    return () => clearTimeout(timer);
  }
};

/** @param {Clock} clock @param {number} ms @returns {Promise<void>} */
const delay = (clock, ms) => new Promise((resolve) => void clock.timer(ms, resolve));

module.exports = { systemClock, delay };
