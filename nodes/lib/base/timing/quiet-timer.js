'use strict';

const { QuietSeconds } = require('./quiet-seconds');

const SECOND_MS = 1000;

/**
 * Work of a thread once a second, and less often while nothing or little happens. The thread does not wake up in
 * seconds without work.
 */
class QuietTimer {
  #quiet = new QuietSeconds();
  #look;
  #work;
  #isLight;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isLong = false;

  /**
   * @param {() => unknown} look see QuietSeconds
   * @param {() => void} work
   * @param {() => boolean} [isLight] see QuietSeconds
   */
  constructor(look, work, isLight) {
    this.#look = look;
    this.#work = work;
    this.#isLight = isLight;
    this.#wait(1);
  }

  /** Something happened: the next seconds have their work. */
  stir() {
    this.#quiet.stir();
    if (!this.#isLong) return;
    clearTimeout(this.#timer);
    this.#wait(1);
  }

  /** A later stir has no effect. */
  close() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isLong = false;
  }

  /** @param {number} seconds */
  #wait(seconds) {
    this.#isLong = seconds > 1;
    this.#timer = setTimeout(() => this.#tick(), seconds * SECOND_MS);
  }

  #tick() {
    const timer = this.#timer;
    try {
      if (this.#quiet.next(this.#look, this.#isLight) === 'work') this.#work();
    } finally {
      // Unless the work closed it, or stirred.
      if (this.#timer === timer) this.#wait(1 + this.#quiet.skip());
    }
  }
}

exports.QuietTimer = QuietTimer;
