'use strict';
// What a message, a device or another node gets wrong must not end the process: native doorbells, timers and event
// callbacks have no caller that could catch an error.

const { types } = require('node:util');

/**
 * @param {unknown} thrown anything: getters of a message and code of other nodes may throw what they like
 * @returns {NodeJS.ErrnoException}
 */
function asError(thrown) {
  if (types.isNativeError(thrown)) return thrown;
  return new Error(`${typeof thrown} was thrown instead of an error`);
}

/**
 * Calls a function whose error concerns nobody but the log.
 * @param {() => void} fn
 * @param {(error: Error) => void} report must not throw
 */
function guard(fn, report) {
  try {
    fn();
  } catch (thrown) {
    report(asError(thrown));
  }
}

module.exports = { asError, guard };
