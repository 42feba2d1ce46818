'use strict';

/** A device did not answer in time. */
class TooLate extends Error {
  /** @param {string} what */
  constructor(what) {
    super(`no answer to ${what}`);
    this.name = 'TooLate';
  }
}

/**
 * Limits the time of a promise. noble's promises never settle if a device answers with an error, or not at all.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {string} what
 * @returns {Promise<T>}
 */
function within(promise, ms, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooLate(what)), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

module.exports = { within, TooLate };
