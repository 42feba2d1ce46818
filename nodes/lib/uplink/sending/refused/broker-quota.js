'use strict';

const QUOTA_EXCEEDED = 0x97;
const MIN_MS = 1000;
const MAX_MS = 60000;

/**
 * Handles a broker that reports an exceeded quota. The quota is the client's, not the packet's, so nothing is sent for
 * a while, longer each time. Then the refused packets are sent again in their order, at first one at a time: otherwise
 * the packets behind them would overtake them.
 */
class Quota {
  /** @param {import('../in-flight-window').InFlightWindow} window @param {() => number} now ms, monotonic */
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

  /** A packet was refused. @returns {number} time in ms until the next packet may be sent */
  exceeded() {
    // The other packets that were in flight are refused for the same reason.
    if (this.waitMs === 0) {
      this.until = this.now() + this.step;
      this.step = Math.min(MAX_MS, this.step * 2);
    }
    this.window.ceiling = 1;
    return this.waitMs;
  }

  /** The broker accepted a packet that was sent after the wait. */
  taken() {
    if (this.waitMs === 0) this.step = MIN_MS;
  }

  /** The connection is gone. The length of the next wait is kept. */
  disconnected() {
    this.until = 0;
  }

  get waitMs() {
    return Math.max(0, this.until - this.now());
  }
}

exports.Quota = Quota;
