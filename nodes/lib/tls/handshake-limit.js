'use strict';
// Counts the connections of a TLS listener. Connections in their handshakes are limited in number and time. One more
// ends the oldest of them: a normal handshake takes milliseconds, so the oldest most likely stalls.

const { patientTimeout } = require('../base/timing/patient-timeout');

/**
 * @typedef {object} Limits
 * @property {number} maxConnections in total; one more is refused
 * @property {number} maxHalfOpen
 * @property {number} handshakeTimeoutMs from the accept to the last handshake (TLS, then WebSocket)
 *
 * @typedef {object} Pass
 * @property {(reason: string) => void} end
 * @property {() => void} keep ends the limit of the time of the handshakes
 * @property {string} [address] that a proxy named
 */

class HandshakeLimit {
  #limits;
  /** @type {Set<Pass>} oldest first */
  #halfOpen;
  /** @type {Set<Pass>} */
  #open;

  /** @param {Limits} limits */
  constructor(limits) {
    this.#limits = limits;
    this.#halfOpen = new Set();
    this.#open = new Set();
  }

  get halfOpen() {
    return this.#halfOpen.size;
  }

  get open() {
    return this.#open.size;
  }

  /**
   * @param {(reason: string) => void} end must close the connection
   * @returns {Pass | null} null: no room
   */
  enter(end) {
    const { maxConnections, maxHalfOpen, handshakeTimeoutMs } = this.#limits;
    if (this.#halfOpen.size + this.#open.size >= maxConnections) return null;
    if (this.#halfOpen.size >= maxHalfOpen) {
      const [oldest] = this.#halfOpen;
      this.leave(oldest);
      oldest.end('evicted');
    }
    /** @type {Pass} */
    const pass = { end, keep: () => {} };
    pass.keep = patientTimeout(() => {
      this.leave(pass);
      end('time-out');
    }, handshakeTimeoutMs);
    this.#halfOpen.add(pass);
    return pass;
  }

  /**
   * Call it after the handshakes of a connection.
   * @param {Pass} pass
   * @returns {boolean} false if the connection was ended before
   */
  opened(pass) {
    if (!this.#halfOpen.delete(pass)) return false;
    pass.keep();
    this.#open.add(pass);
    return true;
  }

  /** @param {Pass} pass may be removed already */
  leave(pass) {
    pass.keep();
    this.#halfOpen.delete(pass);
    this.#open.delete(pass);
  }

  /** @param {string} reason */
  endAll(reason) {
    for (const pass of [...this.#halfOpen, ...this.#open]) {
      this.leave(pass);
      pass.end(reason);
    }
  }
}

exports.HandshakeLimit = HandshakeLimit;
