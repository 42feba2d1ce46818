'use strict';

/**
 * Exponential back-off with jitter. Each delay is drawn from the upper half of its step, so that many gateways that
 * lost the same broker do not reconnect at the same time.
 */
class Backoff {
  /** @param {number} minMs @param {number} maxMs @param {() => number} [random] */
  constructor(minMs, maxMs, random = Math.random) {
    this.minMs = minMs;
    this.maxMs = maxMs;
    this.random = random;
    this.step = minMs;
  }

  next() {
    const step = this.step;
    this.step = Math.min(this.maxMs, step * 2);
    return Math.round(step * (0.5 + 0.5 * this.random()));
  }

  reset() {
    this.step = this.minMs;
  }
}

exports.Backoff = Backoff;
