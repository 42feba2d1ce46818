'use strict';
// Chooses the messages that a tap passes: one in N, and at most a number per second. 0 = no such limit.

class Sampler {
  #everyN;
  #perSecond;
  #now;
  #seen;
  #second;
  #passed;

  /**
   * @param {number} everyN
   * @param {number} perSecond
   * @param {() => number} [now] ms
   */
  constructor(everyN, perSecond, now = () => performance.now()) {
    this.#everyN = everyN;
    this.#perSecond = perSecond;
    this.#now = now;
    this.#seen = 0;
    this.#second = -1;
    this.#passed = 0;
  }

  /** @returns {boolean} true if the message passes; the first one does */
  pass() {
    if (this.#everyN > 0 && this.#seen++ % this.#everyN !== 0) return false;
    if (this.#perSecond === 0) return true;
    const second = Math.floor(this.#now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#passed = 0;
    }
    return this.#passed++ < this.#perSecond;
  }
}

exports.Sampler = Sampler;
