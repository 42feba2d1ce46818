'use strict';
// An address that moves from machine to machine, as keepalived's does: a TCP forwarder that closes its connections when
// it moves.

const net = require('node:net');

class MovingAddress {
  #server = net.createServer((socket) => this.#accept(socket));
  /** @type {Set<net.Socket>} */
  #open = new Set();
  /** 0 = no machine has the address. */
  #target = 0;

  /** @returns {Promise<this>} */
  async listen() {
    await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', () => resolve(undefined)));
    return this;
  }

  get port() {
    return /** @type {net.AddressInfo} */ (this.#server.address()).port;
  }

  /** @param {number} port of the machine that has the address from now on; 0 = none */
  moveTo(port) {
    this.#target = port;
    for (const socket of this.#open) socket.destroy();
  }

  /** @param {net.Socket} socket */
  #accept(socket) {
    if (this.#target === 0) return void socket.destroy();
    const machine = net.connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    socket.setNoDelay(true);
    for (const [one, other] of [
      [socket, machine],
      [machine, socket]
    ]) {
      this.#open.add(one);
      one.on('error', () => {}); // 'close' follows
      one.once('close', () => {
        this.#open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  async close() {
    this.moveTo(0);
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

module.exports = { MovingAddress };
