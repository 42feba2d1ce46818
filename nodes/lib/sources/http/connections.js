'use strict';
// The connections of a listener: at most so many, and one more ends the oldest that asks for nothing.

const { connectionName } = require('../../base/connection-name');

class Guests {
  /** @param {number} max */
  constructor(max) {
    this.max_ = max;
    /** By the names of their connections; the oldest first. @type {Map<string, { socket: import('node:net').Socket, requests: number }>} */
    this.guests_ = new Map();
    this.turnedAway = 0;
  }

  get size() {
    return this.guests_.size;
  }

  /** @param {import('node:net').Socket} socket the TCP one, also under TLS */
  add(socket) {
    const name = connectionName(socket);
    if (this.guests_.size >= this.max_ && !this.endIdle_()) {
      this.turnedAway++;
      socket.destroy();
      return;
    }
    const guest = { socket, requests: 0 };
    this.guests_.set(name, guest);
    socket.once('close', () => {
      if (this.guests_.get(name) === guest) this.guests_.delete(name);
    });
  }

  /**
   * @param {import('node:net').Socket} socket
   * @param {number} change of its open requests
   */
  count(socket, change) {
    const guest = this.guests_.get(connectionName(socket));
    if (guest) guest.requests += change;
  }

  /** @returns {boolean} false when all are busy */
  endIdle_() {
    for (const [name, { socket, requests }] of this.guests_) {
      if (requests > 0) continue;
      this.turnedAway++;
      this.guests_.delete(name);
      socket.destroy();
      return true;
    }
    return false;
  }

  endAll() {
    for (const { socket } of this.guests_.values()) socket.destroy();
  }
}

exports.Guests = Guests;
