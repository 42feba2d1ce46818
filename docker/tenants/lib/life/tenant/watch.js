'use strict';

const { isEngineAway, messageOf } = require('../../base/errors');

/** @typedef {{ abort: AbortController, reason: string, promise: Promise<{ reason: string }> }} Watch reason '' = it runs */

/** Time until the next try after an engine refused a watch. */
const RETRY_MS = 5000;

/**
 * Watches until a tenant ends by itself.
 * @param {import('../../drivers/driver').Driver} driver
 * @param {import('../../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @param {object} told
 * @param {(reason: string) => void} told.ended
 * @param {() => void} told.away the engine does not answer
 * @param {(error: unknown) => void} told.refused the engine refused; there is no watch
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

/** One watch at most: each one replaces the earlier one. */
class EndWatch {
  #parts;
  /** @type {Watch | null} */
  #watch = null;

  /**
   * @param {object} parts
   * @param {import('./status').Status} parts.status
   * @param {Pick<import('./tenant-tools').Tools, 'driver' | 'clock' | 'onEngineAway'>} parts.tools
   * @param {(step: () => Promise<void>) => Promise<void>} parts.serial runs a step when those before it have ended
   * @param {() => void} parts.begun
   * @param {(reason: string) => void} parts.fell the tenant ended by itself
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @param {import('./status').State} state that the tenant has now @returns {Watch} */
  begin(state) {
    this.end();
    const { status, tools, serial, begun, fell } = this.#parts;
    const isWatched = () => this.#watch === watch && status.isUp;
    const fall = (/** @type {string} */ reason) => isWatched() && fell(reason);
    const watch = watchEnd(tools.driver, status.spec, {
      // A start detects the end itself. A running pause ends first.
      ended: (reason) =>
        void (status.state === 'pausing' ? serial(async () => void fall(reason)) : fall(reason)),
      away: tools.onEngineAway,
      refused: (error) => {
        status.reason = messageOf(error);
        tools.clock.timer(RETRY_MS, () => isWatched() && this.begin(status.state));
      }
    });
    this.#watch = watch;
    if (state !== status.state) status.set(state);
    begun();
    return watch;
  }

  end() {
    this.#watch?.abort.abort();
    this.#watch = null;
  }
}

exports.EndWatch = EndWatch;
