'use strict';
// Devices that connect and stay silent. They are in this process, because a silent connection costs it no CPU.

const net = require('node:net');

/** Longer than any run, so that devices do not even send PINGREQ. */
const KEEP_ALIVE_S = 3600;
/** Pending connections, fewer than any listener's backlog. */
const AT_ONCE = 64;
const CONNECT_MS = 20000;

/** Returns an MQTT 3.1.1 CONNECT with clean session. @param {string} id @returns {Buffer} */
function connectPacket(id) {
  const header = Buffer.from([0, 4, ...Buffer.from('MQTT'), 4, 2, KEEP_ALIVE_S >> 8, KEEP_ALIVE_S & 255]);
  const payload = Buffer.from([0, id.length, ...Buffer.from(id)]);
  return Buffer.concat([Buffer.from([0x10, header.length + payload.length]), header, payload]);
}

/**
 * @param {number} port @param {string} id at most 64 characters
 * @returns {Promise<net.Socket>} resolves on a CONNACK with code 0
 */
function connect(port, id) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    const timer = setTimeout(() => socket.destroy(new Error('no CONNACK')), CONNECT_MS);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.once('data', (bytes) => {
      clearTimeout(timer);
      if (bytes[0] === 0x20 && bytes[3] === 0) resolve(socket);
      else socket.destroy(new Error(`refused: ${bytes.toString('hex')}`));
    });
    socket.write(connectPacket(id));
  });
}

class SilentFleet {
  /** @param {number} port */
  constructor(port) {
    this.port = port;
    /** @type {net.Socket[]} */
    this.sockets = [];
    /** Connections that the other end closed. */
    this.losses = 0;
    this.isClosing = false;
  }

  /** Connects devices until there are `count`. @param {number} count */
  async grow(count) {
    while (this.sockets.length < count) {
      const from = this.sockets.length;
      const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) =>
        connect(this.port, `silent-${from + i}`)
      );
      for (const socket of await Promise.all(some)) {
        socket.on('error', () => {}); // 'close' follows
        socket.on('close', () => (this.losses += this.isClosing ? 0 : 1));
        this.sockets.push(socket);
      }
    }
  }

  close() {
    this.isClosing = true;
    for (const socket of this.sockets) socket.destroy();
  }
}

module.exports = { SilentFleet };
