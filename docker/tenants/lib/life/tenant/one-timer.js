'use strict';

/** A timer may be called a little early. */
const EARLY_MS = 5;

/** One timer at most: each start replaces the earlier one. */
class OneTimer {
  #clock;
  #cancel = () => {};
  #at = Infinity;

  /** @param {import('../../base/clock').Clock} clock */
  constructor(clock) {
    this.#clock = clock;
  }

  /** @param {number} ms @param {() => void} call */
  start(ms, call) {
    this.#cancel();
    this.#at = this.#clock.now() + ms;
    this.#cancel = this.#clock.timer(ms, call);
  }

  stop() {
    this.#cancel();
    this.#cancel = () => {};
    this.#at = Infinity;
  }

  /** True if its time has come and it was not started again or stopped since. */
  get isDue() {
    return this.#clock.now() >= this.#at - EARLY_MS;
  }
}

exports.OneTimer = OneTimer;
exports.EARLY_MS = EARLY_MS;
