'use strict';
// Work that is due once a second costs more than all else while nothing or little happens: the processor's caches are
// cold. This decides which of these seconds may go without it.

/** Seconds without a change after which work is left out. */
const STILL_S = 3;
/**
 * From then on, each third second has a look whether something has changed, and each ninth one has the work, too. While
 * the load is light, each third second has the work if something has changed.
 */
const LOOK_S = 3;
const WORK_S = 9;

/** @typedef {'work' | 'look' | 'rest'} Duty of a second: all work; only what cannot wait for the work; nothing */

class QuietSeconds {
  /** @type {unknown} */
  #seen;
  /** Looks since the last change under more than a light load. */
  #calm = 0;
  /** Seconds since work was left out for the first time. */
  #still = 0;

  /**
   * Call it once a second.
   * @param {() => unknown} look returns a primitive value that changes with everything that the work depends on. NaN =
   *   the work must not be left out
   * @param {() => boolean} [isLight] called after a look that found a change; true: the next one may be noticed as late
   *   as the first one after a rest
   * @returns {Duty}
   */
  next(look, isLight = () => false) {
    if (this.#still % LOOK_S === 0) {
      const seen = look();
      const isChanged = seen !== this.#seen;
      this.#seen = seen;
      if (isChanged && (Number.isNaN(seen) || !isLight())) {
        this.stir();
        return 'work';
      }
      if (++this.#calm <= STILL_S) return 'work';
      if (isChanged) {
        this.#still++;
        return 'work';
      }
    }
    const second = this.#still++;
    if (second % LOOK_S !== 0) return 'rest';
    return second > 0 && second % WORK_S === 0 ? 'work' : 'look';
  }

  /** @returns {number} seconds with nothing that follow; they count as past */
  skip() {
    const rest = (LOOK_S - (this.#still % LOOK_S)) % LOOK_S;
    this.#still += rest;
    return rest;
  }

  /** Something happened: the next seconds have their work. */
  stir() {
    this.#calm = 0;
    this.#still = 0;
  }
}

exports.QuietSeconds = QuietSeconds;
