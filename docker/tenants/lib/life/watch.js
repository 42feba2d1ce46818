'use strict';

const { isEngineAway } = require('../base/errors');

/** @typedef {{ abort: AbortController, reason: string, promise: Promise<{ reason: string }> }} Watch reason '' = it runs */

/**
 * Watches until a tenant ends by itself.
 * @param {import('../drivers/driver').Driver} driver
 * @param {import('../file/schema').Spec} spec
 * @param {object} told
 * @param {(reason: string) => void} told.ended
 * @param {() => void} told.away the engine does not answer
 * @param {(error: unknown) => void} told.refused the engine refused; nobody watches
 * @returns {Watch}
 */
function watchEnd(driver, spec, { ended, away, refused }) {
  const abort = new AbortController();
  const promise = driver.ended(spec, abort.signal);
  /** @type {Watch} */
  const watch = { abort, reason: '', promise };
  promise.then(
    ({ reason }) => {
      watch.reason = reason;
      ended(reason);
    },
    (error) => {
      if (abort.signal.aborted) return;
      if (isEngineAway(error)) away();
      else refused(error);
    }
  );
  return watch;
}

module.exports = { watchEnd };
