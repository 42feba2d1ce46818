'use strict';
// Chooses the messages that a tap passes: one in N, and at most a number per second. 0 = no such limit.

class Sampler {
  /**
   * @param {number} everyN
   * @param {number} perSecond
   * @param {() => number} [now] ms
   */
  constructor(everyN, perSecond, now = () => performance.now()) {
    this.everyN_ = everyN;
    this.perSecond_ = perSecond;
    this.now_ = now;
    this.seen_ = 0;
    this.second_ = -1;
    this.passed_ = 0;
  }

  /** @returns {boolean} true if the message passes; the first one does */
  pass() {
    if (this.everyN_ > 0 && this.seen_++ % this.everyN_ !== 0) return false;
    if (this.perSecond_ === 0) return true;
    const second = Math.floor(this.now_() / 1000);
    if (second !== this.second_) {
      this.second_ = second;
      this.passed_ = 0;
    }
    return this.passed_++ < this.perSecond_;
  }
}

exports.Sampler = Sampler;
