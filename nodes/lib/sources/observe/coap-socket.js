'use strict';
// The socket that the CoAP library works on. It is connected to one server, so the kernel drops what comes from anybody else and
// tells when nobody listens. It keeps from the library what that takes amiss (measured with 1.5.0): a datagram that the network
// delivers twice makes it put a block into a body twice; malformed options make it throw.

const crypto = require('node:crypto');
const dgram = require('node:dgram');
const dns = require('node:dns/promises');
const { EventEmitter } = require('node:events');
const net = require('node:net');
const { parseDatagram } = require('./datagram-check');

/** A message id means the same message for so long (EXCHANGE_LIFETIME, RFC 7252, 4.8.2). */
const LIFETIME_MS = 247000;
const MAX_REMEMBERED = 128;

/** Words for the canvas. @type {Record<string, string>} */
const REASONS = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  ENETUNREACH: 'no route to host',
  EHOSTUNREACH: 'no route to host'
};

/**
 * @typedef {object} WireEvents
 * @property {[Buffer, import('node:dgram').RemoteInfo]} message
 * @property {[string]} refused code: the kernel says that nobody is there
 * @property {[Error]} error for the library; never sent
 */

/** @extends {EventEmitter<WireEvents>} */
class CoapSocket extends EventEmitter {
  /** @param {string} host @param {number} port @returns {Promise<CoapSocket>} */
  static async open(host, port) {
    const { address, family } = net.isIP(host)
      ? { address: host, family: net.isIP(host) }
      : await dns.lookup(host);
    const socket = dgram.createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
      await new Promise((resolve, reject) => {
        socket.on('error', reject);
        // Where the system has no route, this callback has its error, and no 'error' event follows.
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
    this.socket_ = socket;
    /** @type {(datagram: import('./datagram-check').Datagram) => boolean} false keeps a message from the library */
    this.accept = () => true;
    /** @type {Map<string, number>} when it came, by the whole datagram's hash */
    this.remembered_ = new Map();
    this.malformed = 0;
    this.closed_ = false;
    socket.removeAllListeners('error');
    socket.on('message', (bytes, from) => this.receive_(bytes, from));
    socket.on('error', (error) => this.emit('refused', codeOf(error)));
  }

  /** As of dgram.Socket, with the address that is known already. */
  send(
    /** @type {Buffer} */ bytes,
    /** @type {number} */ offset,
    /** @type {number} */ length,
    /** @type {number} */ _port,
    /** @type {string} */ _address,
    /** @type {(error: Error | null, bytes: number) => void} */ done
  ) {
    if (this.closed_) return done(null, 0);
    this.socket_.send(bytes, offset, length, (error) => {
      // What could not be sent is lost, as anything on a network may be; a refusal comes by 'refused'.
      if (error && !this.closed_) this.emit('refused', codeOf(error));
      done(null, length);
    });
  }

  address() {
    return this.socket_.address();
  }

  close() {
    if (this.closed_) return;
    this.closed_ = true;
    this.socket_.close();
    this.removeAllListeners();
  }

  /** @param {Buffer} bytes @param {import('node:dgram').RemoteInfo} from */
  receive_(bytes, from) {
    const datagram = parseDatagram(bytes);
    if (!datagram) {
      this.malformed++;
      return;
    }
    if (this.isRepeated_(bytes)) {
      if (datagram.type === 'con') this.acknowledge_(datagram.messageId);
      return;
    }
    try {
      if (this.accept(datagram)) this.emit('message', bytes, from);
    } catch {
      this.malformed++;
    }
  }

  /**
   * The message id alone does not tell: a device that was started anew counts from its beginning.
   * @param {Buffer} bytes
   */
  isRepeated_(bytes) {
    const key = crypto.hash('sha1', bytes, 'base64');
    const now = performance.now();
    const before = this.remembered_.get(key);
    if (before !== undefined && now - before < LIFETIME_MS) return true;
    this.remembered_.delete(key);
    this.remembered_.set(key, now);
    const [oldest] = this.remembered_.keys();
    if (this.remembered_.size > MAX_REMEMBERED && oldest) this.remembered_.delete(oldest);
    return false;
  }

  /** The one before was lost. @param {number} messageId */
  acknowledge_(messageId) {
    const empty = Buffer.from([0x60, 0, messageId >> 8, messageId & 255]);
    this.send(empty, 0, empty.length, 0, '', () => {});
  }
}

/** @param {NodeJS.ErrnoException} error */
function codeOf({ code = '' }) {
  return code;
}

/** @param {string} code of the system @returns {string} what it means for an address */
function reasonOf(code) {
  return REASONS[code] ?? code;
}

exports.CoapSocket = CoapSocket;
exports.reasonOf = reasonOf;
