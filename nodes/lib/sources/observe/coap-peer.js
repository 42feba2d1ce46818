'use strict';
// A client of one CoAP server, with one request at a time.

const crypto = require('node:crypto');
const { Agent } = require('coap');
const { patientTimeout } = require('../../base/timing/patient-timeout');
const { CoapSocket, reasonOf } = require('./coap-socket');

const DEFAULT_MAX_AGE_S = 60;

/**
 * @typedef {import('./coap-url').CoapUrl} CoapUrl
 *
 * @typedef {object} Answer
 * @property {string} code such as 2.05; 0.00 = the server reset the request
 * @property {Buffer} payload
 * @property {number | undefined} observe number of the notification
 * @property {boolean} blocks true: assembled from blocks; the last has no notification number
 * @property {number} maxAgeS
 *
 * @typedef {object} Asked
 * @property {(answer: Answer) => void} answer called for the first answer, and for notifications after it
 * @property {(error: Error & { code?: string }) => void} failed called at most once, and last
 */

class Peer {
  #socket;
  #target;
  #options;
  #agent;
  /** The same for each registration, so that the server replaces the previous one (RFC 7641, 3.3.1). */
  #token;
  /** @type {any} the request in flight, or the observing one */
  #request;
  /** @type {Asked | null} */
  #asked;
  #endTimer;
  #observing;
  /** ETag of the body that arrives in blocks. */
  #etag;
  #block;

  /**
   * @param {CoapUrl} target
   * @param {{ maxBodyBytes: number, confirmable: boolean, timeoutMs: number }} options
   * @returns {Promise<Peer>}
   */
  static async open(target, options) {
    return new Peer(await CoapSocket.open(target.host, target.port), target, options);
  }

  /**
   * @param {CoapSocket} socket
   * @param {CoapUrl} target
   * @param {{ maxBodyBytes: number, confirmable: boolean, timeoutMs: number }} options
   */
  constructor(socket, target, options) {
    this.#socket = socket;
    this.#target = target;
    this.#options = options;
    this.#agent = new Agent({ socket: /** @type {any} */ (socket), type: socket.type });
    this.#agent.on('error', () => {});
    this.#token = crypto.randomBytes(8);
    this.#request = null;
    this.#asked = null;
    this.#endTimer = () => {};
    this.#observing = false;
    this.#etag = '';
    this.#block = -1;
    socket.on('refused', (code) => this.#fail(code, reasonOf(code)));
    socket.accept = (datagram) => this.#accept(datagram);
  }

  /**
   * Requests the resource. A previous request is dropped.
   * @param {boolean} observe
   * @param {Asked} asked
   */
  ask(observe, asked) {
    this.#forget();
    this.#asked = asked;
    this.#endTimer = patientTimeout(() => this.#fail('ETIMEDOUT', 'no answer'), this.#options.timeoutMs);
    /** @type {any} */
    const request = this.#agent.request(this.#parameters(observe ? { observe: true } : {}));
    this.#request = request;
    request.on('error', (/** @type {Error} */ error) => {
      if (this.#request === request) this.#fail('EPROTO', error.message);
    });
    // The library's own timeout is minutes later than ours.
    request.on('timeout', () => {});
    request.on('response', (/** @type {any} */ response) => {
      if (this.#request !== request) return;
      this.#endTimer();
      // Bypasses the library's stream, which loses response codes and drops bodies assembled from blocks.
      response.append = (/** @type {any} */ packet) => {
        if (this.#request === request) this.#answer(packet.code, packet.payload, packet.options);
      };
      this.#observing = observe;
      this.#answer(response.code, response.payload, response.options);
    });
    request.end();
    // Requests for further blocks have no Observe option (RFC 7959, 2.6). The first datagram has been created already.
    request._packet.options = request._packet.options.filter(
      (/** @type {{ name: string }} */ { name }) => name !== 'Observe'
    );
  }

  /** Cancels the observation and closes. */
  close() {
    const registered = this.#observing;
    this.#forget();
    if (registered) {
      const request = this.#agent.request(this.#parameters({ observe: 1, confirmable: false }));
      request.on('error', () => {});
      request.on('timeout', () => {});
      request.end();
      this.#agent.abort(request);
    }
    // After the send, which does not need a DNS lookup.
    setImmediate(() => this.#socket.close());
  }

  /** @param {object} more @returns {any} */
  #parameters(more) {
    const { host, port, uriPath, uriQuery, uriHost } = this.#target;
    return {
      hostname: host,
      port,
      method: 'GET',
      confirmable: this.#options.confirmable,
      token: this.#token,
      options: {
        ...(uriHost && { 'Uri-Host': uriHost }),
        ...(uriPath.length > 0 && { 'Uri-Path': uriPath }),
        ...(uriQuery.length > 0 && { 'Uri-Query': uriQuery })
      },
      ...more
    };
  }

  /**
   * @param {string} code
   * @param {Buffer} payload
   * @param {{ name: string, value: unknown }[]} options
   */
  #answer(code, payload, options) {
    if (payload.length > this.#options.maxBodyBytes) return this.#tooLarge();
    this.#asked?.answer({
      code,
      payload: Buffer.from(payload),
      observe: uint(options, 'Observe'),
      blocks: uint(options, 'Block2') !== undefined,
      maxAgeS: uint(options, 'Max-Age') ?? DEFAULT_MAX_AGE_S
    });
  }

  /**
   * Checks each block before the library appends it, because the library accepts any block.
   * @param {import('./datagram-check').Datagram} datagram
   */
  #accept({ type, messageId, token, etag, block }) {
    const request = this.#request;
    if (!request || block < 0 || token !== this.#token.toString('hex')) return true;
    if (block === 0) {
      request._totalPayload = Buffer.alloc(0);
    } else if (block !== this.#block + 1 || (type === 'ack' && messageId !== request._packet.messageId)) {
      return false;
    } else if (etag !== this.#etag) {
      // Blocks of two representations must not be combined (RFC 7959, 2.4).
      this.#fail('ECHANGED', 'the representation changed while it was read');
      return false;
    } else if (request._totalPayload.length > this.#options.maxBodyBytes) {
      this.#tooLarge();
      return false;
    }
    this.#block = block;
    this.#etag = etag;
    return true;
  }

  #tooLarge() {
    this.#fail('EMSGSIZE', `more than ${this.#options.maxBodyBytes} bytes`);
  }

  /** @param {string} code @param {string} reason */
  #fail(code, reason) {
    const asked = this.#asked;
    this.#forget();
    asked?.failed(Object.assign(new Error(reason), { code }));
  }

  #forget() {
    this.#endTimer();
    if (this.#request) this.#agent.abort(this.#request);
    this.#request = null;
    this.#asked = null;
    this.#observing = false;
    this.#block = -1;
  }
}

/**
 * @param {{ name: string, value: unknown }[] | undefined} options the library converts only those of the first packet
 * @param {string} name
 * @returns {number | undefined}
 */
function uint(options, name) {
  const value = options?.find((option) => option.name === name)?.value;
  if (typeof value === 'number') return value;
  if (!Buffer.isBuffer(value) || value.length > 4) return undefined;
  return value.length === 0 ? 0 : value.readUIntBE(0, value.length);
}

exports.Peer = Peer;
