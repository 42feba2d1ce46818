'use strict';
// Limits the connections of a listener. One more than the limit ends the oldest idle connection.

const { connectionName } = require('../../base/connection-name');

class Connections {
  #max;
  /**
   * By connection name, oldest first.
   * @type {Map<string, { socket: import('node:net').Socket, requests: number }>}
   */
  #open;

  /** @param {number} max */
  constructor(max) {
    this.#max = max;
    this.#open = new Map();
    this.turnedAway = 0;
  }

  get size() {
    return this.#open.size;
  }

  /** @param {import('node:net').Socket} socket the TCP socket, also with TLS */
  add(socket) {
    const name = connectionName(socket);
    if (this.#open.size >= this.#max && !this.#endIdle()) {
      this.turnedAway++;
      socket.destroy();
      return;
    }
    const guest = { socket, requests: 0 };
    this.#open.set(name, guest);
    socket.once('close', () => {
      if (this.#open.get(name) === guest) this.#open.delete(name);
    });
  }

  /**
   * @param {import('node:net').Socket} socket
   * @param {number} change of the number of its open requests
   */
  count(socket, change) {
    const guest = this.#open.get(connectionName(socket));
    if (guest) guest.requests += change;
  }

  /** @returns {boolean} false if all are busy */
  #endIdle() {
    for (const [name, { socket, requests }] of this.#open) {
      if (requests > 0) continue;
      this.turnedAway++;
      this.#open.delete(name);
      socket.destroy();
      return true;
    }
    return false;
  }

  endAll() {
    for (const { socket } of this.#open.values()) socket.destroy();
  }
}

exports.Connections = Connections;
