'use strict';
// Who is inside of a front, and who is still at the door. Connections that are not through their handshakes are limited in number and
// time; one more ends the oldest of them: honest ones are through in milliseconds, so it is most likely one that stalls.

/**
 * @typedef {object} GateLimits
 * @property {number} maxConnections in all; one more is refused
 * @property {number} maxHalfOpen
 * @property {number} handshakeTimeoutMs from the accept to the last handshake (TLS, then WebSocket)
 *
 * @typedef {object} Pass
 * @property {(reason: string) => void} end
 * @property {NodeJS.Timeout | null} timer null once it is open
 */

class Gate {
  /** @param {GateLimits} limits */
  constructor(limits) {
    this.limits_ = limits;
    /** @type {Set<Pass>} oldest first */
    this.halfOpen_ = new Set();
    /** @type {Set<Pass>} */
    this.open_ = new Set();
  }

  get halfOpen() {
    return this.halfOpen_.size;
  }

  get open() {
    return this.open_.size;
  }

  /**
   * @param {(reason: string) => void} end has to close the connection
   * @returns {Pass | null} null: there is no room
   */
  enter(end) {
    const { maxConnections, maxHalfOpen, handshakeTimeoutMs } = this.limits_;
    if (this.halfOpen_.size + this.open_.size >= maxConnections) return null;
    if (this.halfOpen_.size >= maxHalfOpen) {
      const [oldest] = this.halfOpen_;
      this.leave(oldest);
      oldest.end('evicted');
    }
    /** @type {Pass} */
    const pass = { end, timer: null };
    pass.timer = setTimeout(() => {
      this.leave(pass);
      end('time-out');
    }, handshakeTimeoutMs);
    this.halfOpen_.add(pass);
    return pass;
  }

  /** Its handshakes are done. @param {Pass} pass @returns {boolean} false when it was ended before */
  opened(pass) {
    if (!this.halfOpen_.delete(pass)) return false;
    clearTimeout(pass.timer ?? undefined);
    pass.timer = null;
    this.open_.add(pass);
    return true;
  }

  /** @param {Pass} pass once or more often */
  leave(pass) {
    clearTimeout(pass.timer ?? undefined);
    this.halfOpen_.delete(pass);
    this.open_.delete(pass);
  }

  /** @param {string} reason */
  endAll(reason) {
    for (const pass of [...this.halfOpen_, ...this.open_]) {
      this.leave(pass);
      pass.end(reason);
    }
  }
}

exports.Gate = Gate;
