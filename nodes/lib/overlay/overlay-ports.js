'use strict';
// Local ports that lead to names of the overlay. The overlay's program opens them and closes them with the connection
// that asked for them, so a gateway that has ended leaves none.

const { ControlConnection, OverlayError } = require('./control-connection');

/** @typedef {{ host: string, port: number }} Place */

/** Answers of the program are this late at most: it may have to find the peer first. */
const ASK_MS = 10000;

class OverlayPorts {
  #socket;
  /** @type {ControlConnection | null} */
  #connection = null;
  /** By destination. @type {Map<string, Promise<Place>>} */
  #places = new Map();
  #isClosed = false;

  /** @param {string} socket the control socket */
  constructor(socket) {
    this.#socket = socket;
  }

  /**
   * Returns the local place that leads to a destination. The same destination has the same place while the connection
   * to the program lasts.
   * @param {string} host a name or an address of the overlay
   * @param {number} port
   * @returns {Promise<Place>} rejects with an OverlayError, code 'OVERLAY_DIAL'
   */
  place(host, port) {
    const remote = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const known = this.#places.get(remote);
    if (known) return known;
    const asked = this.#ask(remote).catch((error) => {
      if (this.#places.get(remote) === asked) this.#places.delete(remote);
      throw new OverlayError(error.message, { code: 'OVERLAY_DIAL', cause: error });
    });
    this.#places.set(remote, asked);
    return asked;
  }

  /** @param {string} remote @returns {Promise<Place>} */
  async #ask(remote) {
    if (this.#isClosed) throw new OverlayError('The overlay network node was closed.');
    this.#connection ??= this.#connect();
    const params = { network: 'tcp', local: '127.0.0.1:0', remote };
    const { local } = await this.#connection.request('forward', params, ASK_MS);
    const [, host, port] = /^(127\.0\.0\.1):(\d{1,5})$/.exec(String(local)) ?? [];
    if (!host || Number(port) < 1 || Number(port) > 65535)
      throw new OverlayError(`The overlay's program opened no local port for ${remote}.`);
    return { host, port: Number(port) };
  }

  #connect() {
    const connection = new ControlConnection(this.#socket, {
      onEnd: () => {
        if (connection !== this.#connection) return;
        this.#connection = null;
        this.#places.clear();
      }
    });
    return connection;
  }

  /** Closes all ports, for good. */
  close() {
    this.#isClosed = true;
    this.#connection?.close();
    this.#connection = null;
    this.#places.clear();
  }
}

/** By control socket: the sessions of a thread share them. @type {Map<string, OverlayPorts>} */
const shared = new Map();

/** @param {string} socket @returns {OverlayPorts} */
function portsOf(socket) {
  const ports = shared.get(socket) ?? new OverlayPorts(socket);
  shared.set(socket, ports);
  return ports;
}

exports.OverlayPorts = OverlayPorts;
/** As a dialer, by control socket. */
exports.placesOf = portsOf;
