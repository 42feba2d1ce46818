'use strict';
// Limits the connections of a listener. One more than the limit ends the oldest idle connection.

const { connectionName } = require('../../base/connection-name');

class Connections {
  /** @param {number} max */
  constructor(max) {
    this.max_ = max;
    /**
     * By connection name, oldest first.
     * @type {Map<string, { socket: import('node:net').Socket, requests: number }>}
     */
    this.open_ = new Map();
    this.turnedAway = 0;
  }

  get size() {
    return this.open_.size;
  }

  /** @param {import('node:net').Socket} socket the TCP socket, also with TLS */
  add(socket) {
    const name = connectionName(socket);
    if (this.open_.size >= this.max_ && !this.endIdle_()) {
      this.turnedAway++;
      socket.destroy();
      return;
    }
    const guest = { socket, requests: 0 };
    this.open_.set(name, guest);
    socket.once('close', () => {
      if (this.open_.get(name) === guest) this.open_.delete(name);
    });
  }

  /**
   * @param {import('node:net').Socket} socket
   * @param {number} change of the number of its open requests
   */
  count(socket, change) {
    const guest = this.open_.get(connectionName(socket));
    if (guest) guest.requests += change;
  }

  /** @returns {boolean} false if all are busy */
  endIdle_() {
    for (const [name, { socket, requests }] of this.open_) {
      if (requests > 0) continue;
      this.turnedAway++;
      this.open_.delete(name);
      socket.destroy();
      return true;
    }
    return false;
  }

  endAll() {
    for (const { socket } of this.open_.values()) socket.destroy();
  }
}

exports.Connections = Connections;
