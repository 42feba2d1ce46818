'use strict';
// Work that is due once a second costs more than all else while nothing happens: the processor's caches are cold. This
// decides which of these seconds may go without it.

/** Seconds without a change after which work is left out. */
const STILL_S = 3;
/** A second of work follows this many at the latest. */
const EVERY_S = 10;

class QuietSeconds {
  /** @type {unknown} */
  #seen;
  #unchanged = 0;

  /**
   * Call it once a second.
   * @param {unknown} activity changes with everything that the work depends on; a primitive value
   * @returns {boolean} true: leave the work out this time
   */
  skips(activity) {
    if (activity !== this.#seen) {
      this.#seen = activity;
      this.#unchanged = 0;
      return false;
    }
    this.#unchanged++;
    return this.#unchanged > STILL_S && (this.#unchanged - STILL_S) % EVERY_S !== 0;
  }

  /** Something happened that no activity shows: the next seconds have their work. */
  stir() {
    this.#unchanged = 0;
  }
}

exports.QuietSeconds = QuietSeconds;
exports.EVERY_S = EVERY_S;
