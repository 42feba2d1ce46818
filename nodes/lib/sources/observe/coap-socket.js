'use strict';
// The socket of the CoAP library. It is connected to one server, so the kernel drops datagrams of other senders and
// reports a closed port. It filters datagrams that the library (measured with 1.5.0) handles incorrectly: for a
// datagram that the network delivers twice, it appends a block twice, and for malformed options it throws.

const crypto = require('node:crypto');
const dgram = require('node:dgram');
const dns = require('node:dns/promises');
const { EventEmitter } = require('node:events');
const net = require('node:net');
const { parseDatagram } = require('./datagram-check');

/** How long a message id denotes the same message (EXCHANGE_LIFETIME, RFC 7252, 4.8.2). */
const LIFETIME_MS = 247000;
const MAX_REMEMBERED = 128;

/** For the status. @type {Record<string, string>} */
const REASONS = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  ENETUNREACH: 'no route to host',
  EHOSTUNREACH: 'no route to host'
};

/**
 * @typedef {object} SocketEvents
 * @property {[Buffer, import('node:dgram').RemoteInfo]} message
 * @property {[string]} refused code of the kernel: the server is not reachable
 * @property {[Error]} error declared for the library; never emitted
 */

/** @extends {EventEmitter<SocketEvents>} */
class CoapSocket extends EventEmitter {
  #socket;
  /** @type {Map<string, number>} arrival time, by the hash of the whole datagram */
  #remembered;
  #closed;

  /** @param {string} host @param {number} port @returns {Promise<CoapSocket>} */
  static async open(host, port) {
    const { address, family } = net.isIP(host)
      ? { address: host, family: net.isIP(host) }
      : await dns.lookup(host);
    const socket = dgram.createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
      await new Promise((resolve, reject) => {
        socket.on('error', reject);
        // Without a route, the callback gets the error, and no 'error' event follows.
        const connected = (/** @type {Error | undefined} */ error) =>
          error ? reject(error) : resolve(undefined);
        socket.connect(port, address, /** @type {() => void} */ (connected));
      });
    } catch (error) {
      socket.close();
      throw error;
    }
    return new CoapSocket(socket, family === 6 ? 'udp6' : 'udp4');
  }

  /** @param {dgram.Socket} socket connected @param {'udp4' | 'udp6'} type */
  constructor(socket, type) {
    super();
    this.type = type;
    this.#socket = socket;
    /** @type {(datagram: import('./datagram-check').Datagram) => boolean} false: the library must not get the message */
    this.accept = () => true;
    this.#remembered = new Map();
    this.malformed = 0;
    this.#closed = false;
    socket.removeAllListeners('error');
    socket.on('message', (bytes, from) => this.#receive(bytes, from));
    socket.on('error', (error) => this.emit('refused', codeOf(error)));
  }

  /** The same as send() of dgram.Socket. The address is ignored, because the socket is connected. */
  send(
    /** @type {Buffer} */ bytes,
    /** @type {number} */ offset,
    /** @type {number} */ length,
    /** @type {number} */ _port,
    /** @type {string} */ _address,
    /** @type {(error: Error | null, bytes: number) => void} */ done
  ) {
    if (this.#closed) return done(null, 0);
    this.#socket.send(bytes, offset, length, (error) => {
      // For the library, the datagram is lost, as on any network. The error is reported as 'refused'.
      if (error && !this.#closed) this.emit('refused', codeOf(error));
      done(null, length);
    });
  }

  address() {
    return this.#socket.address();
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.close();
    this.removeAllListeners();
  }

  /** @param {Buffer} bytes @param {import('node:dgram').RemoteInfo} from */
  #receive(bytes, from) {
    const datagram = parseDatagram(bytes);
    if (!datagram) {
      this.malformed++;
      return;
    }
    if (this.#isRepeated(bytes)) {
      if (datagram.type === 'con') this.#acknowledge(datagram.messageId);
      return;
    }
    try {
      if (this.accept(datagram)) this.emit('message', bytes, from);
    } catch {
      this.malformed++;
    }
  }

  /**
   * True if the datagram is a duplicate. The message id is not enough, because a restarted device counts from the
   * beginning.
   * @param {Buffer} bytes
   */
  #isRepeated(bytes) {
    const key = crypto.hash('sha1', bytes, 'base64');
    const now = performance.now();
    const before = this.#remembered.get(key);
    if (before !== undefined && now - before < LIFETIME_MS) return true;
    this.#remembered.delete(key);
    this.#remembered.set(key, now);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MAX_REMEMBERED && oldest) this.#remembered.delete(oldest);
    return false;
  }

  /**
   * Acknowledges a duplicate, because the first acknowledgement was lost.
   * @param {number} messageId
   */
  #acknowledge(messageId) {
    const empty = Buffer.from([0x60, 0, messageId >> 8, messageId & 255]);
    this.send(empty, 0, empty.length, 0, '', () => {});
  }
}

/** @param {NodeJS.ErrnoException} error */
function codeOf({ code = '' }) {
  return code;
}

/** @param {string} code of the system @returns {string} its meaning for an address */
function reasonOf(code) {
  return REASONS[code] ?? code;
}

exports.CoapSocket = CoapSocket;
exports.reasonOf = reasonOf;
