'use strict';
// An error caused by a message, a device or another node must not end the process. Native doorbells, timers and event
// callbacks have no caller that could catch it.

const { types } = require('node:util');

/**
 * @param {unknown} thrown any value: getters of a message and code of other nodes may throw anything
 * @returns {NodeJS.ErrnoException}
 */
function asError(thrown) {
  if (types.isNativeError(thrown)) return thrown;
  return new Error(`${typeof thrown} was thrown instead of an error`);
}

/**
 * Calls a function and reports its error, if any.
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
