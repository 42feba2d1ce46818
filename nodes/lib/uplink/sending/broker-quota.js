'use strict';

const QUOTA_EXCEEDED = 0x97;
const MIN_MS = 1000;
const MAX_MS = 60000;

/**
 * The broker says that our quota is used up: that is said of us, not of the packet, so nothing is sent for a while, longer each
 * time. Then the packets that it refused go again in their order, at first one alone: what is behind them would overtake them
 * otherwise.
 */
class Quota {
  /** @param {import('./in-flight-window').Window} window @param {() => number} now ms, monotonic */
  constructor(window, now) {
    this.window = window;
    this.now = now;
    this.until = 0;
    this.step = MIN_MS;
  }

  /** @param {number} code of a PUBACK */
  static is(code) {
    return code === QUOTA_EXCEEDED;
  }

  /** A packet was refused. @returns {number} ms until the next may be sent */
  exceeded() {
    // The others that were in flight with it are refused for the same reason.
    if (this.waitMs === 0) {
      this.until = this.now() + this.step;
      this.step = Math.min(MAX_MS, this.step * 2);
    }
    this.window.ceiling = 1;
    return this.waitMs;
  }

  /** A packet was taken that was sent after the wait. */
  taken() {
    if (this.waitMs === 0) this.step = MIN_MS;
  }

  /** The connection is gone; how long the broker was asked less for is not forgotten. */
  disconnected() {
    this.until = 0;
  }

  get waitMs() {
    return Math.max(0, this.until - this.now());
  }
}

exports.Quota = Quota;
