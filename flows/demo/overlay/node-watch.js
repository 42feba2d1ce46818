'use strict';
// What a node of the overlay reports on its control socket.

const { ControlConnection } = require('../../../nodes/lib/overlay/control-connection');
const { statusOf } = require('../../../nodes/lib/overlay/peers');
const { controlSocket } = require('../../../nodes/lib/overlay/locations');

const POLL_MS = 10;

/** @typedef {import('../../../nodes/lib/overlay/peers').Peer} Peer */

class NodeWatch {
  #socket;
  /** @type {ControlConnection | null} */
  #connection = null;

  /** @param {string} folder state of the node */
  constructor(folder) {
    this.#socket = controlSocket(folder);
  }

  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  request(method, params) {
    if (!this.#connection || this.#connection.isOver) this.#connection = new ControlConnection(this.#socket);
    return this.#connection.request(method, params);
  }

  /**
   * Waits until a peer is reached by a path.
   * @param {string} name
   * @param {'direct' | 'relay'} path
   * @param {number} limitMs
   * @returns {Promise<{ peer: Peer, isReached: boolean }>} the peer after that time at the latest
   * @throws {Error} if it is unknown then
   */
  async reaches(name, path, limitMs) {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const peer = await this.peer(name);
      if (peer?.path === path) return { peer, isReached: true };
      if (performance.now() > deadline) {
        if (!peer) throw new Error(`The node does not know the peer ${name}.`);
        return { peer, isReached: false };
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** @param {string} name @returns {Promise<Peer | undefined>} */
  async peer(name) {
    try {
      return statusOf(await this.request('status')).peers.find((peer) => peer.name === name);
    } catch {
      return undefined; // the node is not there yet
    }
  }

  /** @param {string} name @returns {Promise<string>} such as 0.3 ms */
  async roundTrip(name) {
    const { rttMs } = await this.request('ping', { name });
    return `${rttMs} ms`;
  }

  close() {
    this.#connection?.close();
  }
}

exports.NodeWatch = NodeWatch;
