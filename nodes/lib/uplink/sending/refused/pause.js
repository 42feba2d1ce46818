'use strict';

const MIN_MS = 1000;
const MAX_MS = 60000;

/** A time in which nothing is sent, longer each time that it begins until the broker accepts a packet. */
class Pause {
  /** @param {() => number} now ms, monotonic @param {number} [mostMs] longest */
  constructor(now, mostMs = MAX_MS) {
    this.now = now;
    this.mostMs = mostMs;
    this.until = 0;
    this.step = MIN_MS;
  }

  /** Begins, unless it lasts already: packets that were in flight together are refused for one reason. */
  begin() {
    if (this.waitMs > 0) return;
    this.until = this.now() + this.step;
    this.step = Math.min(this.mostMs, this.step * 2);
  }

  /** The broker accepted a packet. */
  taken() {
    if (this.waitMs === 0) this.step = MIN_MS;
  }

  /** Ends. The length of the next one is kept. */
  end() {
    this.until = 0;
  }

  /** Time in ms until something may be sent. */
  get waitMs() {
    return Math.max(0, this.until - this.now());
  }
}

module.exports = { MAX_MS, Pause };
