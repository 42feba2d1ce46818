'use strict';
// A client of one CoAP server, with one request at a time.

const crypto = require('node:crypto');
const { Agent } = require('coap');
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
    this.socket_ = socket;
    this.target_ = target;
    this.options_ = options;
    this.agent_ = new Agent({ socket: /** @type {any} */ (socket), type: socket.type });
    this.agent_.on('error', () => {});
    /** The same for each registration, so that the server replaces the previous one (RFC 7641, 3.3.1). */
    this.token_ = crypto.randomBytes(8);
    /** @type {any} the request in flight, or the observing one */
    this.request_ = null;
    /** @type {Asked | null} */
    this.asked_ = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer_ = undefined;
    this.observing_ = false;
    /** ETag of the body that arrives in blocks. */
    this.etag_ = '';
    this.block_ = -1;
    socket.on('refused', (code) => this.fail_(code, reasonOf(code)));
    socket.accept = (datagram) => this.accept_(datagram);
  }

  /**
   * Requests the resource. A previous request is dropped.
   * @param {boolean} observe
   * @param {Asked} asked
   */
  ask(observe, asked) {
    this.forget_();
    this.asked_ = asked;
    this.timer_ = setTimeout(() => this.fail_('ETIMEDOUT', 'no answer'), this.options_.timeoutMs);
    /** @type {any} */
    const request = this.agent_.request(this.parameters_(observe ? { observe: true } : {}));
    this.request_ = request;
    request.on('error', (/** @type {Error} */ error) => {
      if (this.request_ === request) this.fail_('EPROTO', error.message);
    });
    // The library's own timeout is minutes later than ours.
    request.on('timeout', () => {});
    request.on('response', (/** @type {any} */ response) => {
      if (this.request_ !== request) return;
      clearTimeout(this.timer_);
      // Bypasses the library's stream, which loses response codes and drops bodies assembled from blocks.
      response.append = (/** @type {any} */ packet) => {
        if (this.request_ === request) this.answer_(packet.code, packet.payload, packet.options);
      };
      this.observing_ = observe;
      this.answer_(response.code, response.payload, response.options);
    });
    request.end();
    // Requests for further blocks have no Observe option (RFC 7959, 2.6). The first datagram has been created already.
    request._packet.options = request._packet.options.filter(
      (/** @type {{ name: string }} */ { name }) => name !== 'Observe'
    );
  }

  /** Cancels the observation and closes. */
  close() {
    const registered = this.observing_;
    this.forget_();
    if (registered) {
      const request = this.agent_.request(this.parameters_({ observe: 1, confirmable: false }));
      request.on('error', () => {});
      request.on('timeout', () => {});
      request.end();
      this.agent_.abort(request);
    }
    // After the send, which does not need a DNS lookup.
    setImmediate(() => this.socket_.close());
  }

  /** @param {object} more @returns {any} */
  parameters_(more) {
    const { host, port, uriPath, uriQuery, uriHost } = this.target_;
    return {
      hostname: host,
      port,
      method: 'GET',
      confirmable: this.options_.confirmable,
      token: this.token_,
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
  answer_(code, payload, options) {
    if (payload.length > this.options_.maxBodyBytes) return this.tooLarge_();
    this.asked_?.answer({
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
  accept_({ type, messageId, token, etag, block }) {
    const request = this.request_;
    if (!request || block < 0 || token !== this.token_.toString('hex')) return true;
    if (block === 0) {
      request._totalPayload = Buffer.alloc(0);
    } else if (block !== this.block_ + 1 || (type === 'ack' && messageId !== request._packet.messageId)) {
      return false;
    } else if (etag !== this.etag_) {
      // Blocks of two representations must not be combined (RFC 7959, 2.4).
      this.fail_('ECHANGED', 'the representation changed while it was read');
      return false;
    } else if (request._totalPayload.length > this.options_.maxBodyBytes) {
      this.tooLarge_();
      return false;
    }
    this.block_ = block;
    this.etag_ = etag;
    return true;
  }

  tooLarge_() {
    this.fail_('EMSGSIZE', `more than ${this.options_.maxBodyBytes} bytes`);
  }

  /** @param {string} code @param {string} reason */
  fail_(code, reason) {
    const asked = this.asked_;
    this.forget_();
    asked?.failed(Object.assign(new Error(reason), { code }));
  }

  forget_() {
    clearTimeout(this.timer_);
    if (this.request_) this.agent_.abort(this.request_);
    this.request_ = null;
    this.asked_ = null;
    this.observing_ = false;
    this.block_ = -1;
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
