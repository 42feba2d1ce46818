'use strict';
// The connection to the overlay's program with which the offers end. It is not the one that reads the status, so that a
// fault there ends no offer.

const { ControlConnection } = require('./control-connection');

class OfferConnection {
  #socket;
  #onLost;
  /** @type {ControlConnection | null} */
  #connection = null;
  #isClosed = false;

  /**
   * @param {string} socket the control socket
   * @param {() => void} onLost called when the program has withdrawn all that was offered
   */
  constructor(socket, onLost) {
    this.#socket = socket;
    this.#onLost = onLost;
  }

  /**
   * Requests something that ends with the connection. If the program does not answer in time, it may have done it or do
   * it later. So the connection is given up, and with it all that it requested.
   * @param {string} method
   * @param {object} params
   * @param {number} timeoutMs
   * @returns {Promise<any>} rejects with an OverlayError
   */
  async request(method, params, timeoutMs) {
    if (this.#isClosed) throw new Error('The overlay network node was closed.');
    const connection = (this.#connection ??= this.#connect());
    try {
      return await connection.request(method, params, timeoutMs);
    } catch (error) {
      const { code } = /** @type {import('./control-connection').OverlayError} */ (error);
      if (code === 'timeout') {
        connection.close();
        this.#lost(connection);
      }
      throw error;
    }
  }

  #connect() {
    /** @type {ControlConnection} */
    const connection = new ControlConnection(this.#socket, { onEnd: () => this.#lost(connection) });
    return connection;
  }

  /** @param {ControlConnection} connection */
  #lost(connection) {
    if (connection !== this.#connection) return;
    this.#connection = null;
    this.#onLost();
  }

  close() {
    this.#isClosed = true;
    this.#connection?.close();
    this.#connection = null;
  }
}

exports.OfferConnection = OfferConnection;
