'use strict';
// Removes PUBLISH and PUBREL from a broker's byte stream. All other packets go to mqtt.js, whole and in order.
//
// mqtt.js acknowledges a PUBLISH before it processes the next one, and a QoS 2 one (in 3.1.1) before the application
// sees it. A record is safe after some milliseconds, and many must wait in parallel, so we acknowledge them
// (acknowledgements.js).

const { MalformedError, parsePublish, parsePubrel } = require('./packet-reader');

const PUBLISH = 3;
const PUBREL = 6;
const EMPTY = Buffer.alloc(0);

/**
 * @typedef {object} TapHandlers
 * @property {(packet: import('./packet-reader').Publish) => void} onPublish
 * @property {(size: number, head: { qos: number, id: number }) => void} onTooLarge called for a packet that was skipped
 * @property {(id: number) => void} onPubrel
 * @property {(bytes: Buffer) => void} onOther
 * @property {() => boolean} hasRoom false = the next PUBLISH and all packets behind it wait for resume()
 */

class PublishTap {
  #protocolVersion;
  #maxBytes;
  #handlers;
  /** Remaining bytes of a skipped packet. */
  #skip;

  /**
   * @param {number} protocolVersion 4 or 5
   * @param {number} maxBytes of a packet
   * @param {TapHandlers} handlers
   */
  constructor(protocolVersion, maxBytes, handlers) {
    this.#protocolVersion = protocolVersion;
    this.#maxBytes = maxBytes;
    this.#handlers = handlers;
    /** Unprocessed bytes: the beginning of a packet, or packets that wait for room. @type {Buffer} */
    this.rest = EMPTY;
    this.#skip = 0;
    /** True while a PUBLISH waits for room. The caller must not read more bytes. */
    this.waits = false;
  }

  /**
   * @param {Buffer} chunk
   * @throws {MalformedError}
   */
  read(chunk) {
    if (this.#skip > 0) {
      const skipped = Math.min(this.#skip, chunk.length);
      this.#skip -= skipped;
      chunk = chunk.subarray(skipped);
    }
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    this.resume();
  }

  /**
   * Continues with the waiting packets.
   * @throws {MalformedError}
   */
  resume() {
    const bytes = this.rest;
    this.waits = false;
    let at = 0;
    while (at < bytes.length) {
      const body = bodyOf(bytes, at);
      if (body === 0) break;
      const next = this.#packet(bytes, at, body);
      if (next === at) break;
      at = next;
    }
    this.rest = at < bytes.length ? bytes.subarray(at) : EMPTY;
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} body
   * @returns {number} where the next packet begins; `at` if this one must wait
   */
  #packet(bytes, at, body) {
    const handlers = this.#handlers;
    const max = this.#maxBytes;
    const type = bytes[at] >> 4;
    const end = body + lengthOf(bytes, at);
    const isPublish = type === PUBLISH;
    if (end - at > max) return this.#tooLarge(bytes, at, body, end);
    if (end > bytes.length) return at;
    if (isPublish && !handlers.hasRoom()) {
      this.waits = true;
      return at;
    }
    if (isPublish) handlers.onPublish(parsePublish(bytes, at, body, end, this.#protocolVersion));
    else if (type === PUBREL) handlers.onPubrel(parsePubrel(bytes, at, body, end));
    else handlers.onOther(bytes.subarray(at, end));
    return end;
  }

  /**
   * Skips a packet that is too large, as soon as its identifier, which the acknowledgement needs, has arrived.
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} body
   * @param {number} end
   */
  #tooLarge(bytes, at, body, end) {
    if (bytes[at] >> 4 !== PUBLISH) throw new MalformedError(`a packet of ${end - at} bytes`);
    const qos = (bytes[at] >> 1) & 3;
    if (bytes.length < body + 2) return at;
    const idAt = body + 2 + bytes.readUInt16BE(body);
    if (idAt + 2 > end) throw new MalformedError('a packet that ends too early');
    if (qos > 0 && bytes.length < idAt + 2) return at;
    this.#handlers.onTooLarge(end - at, { qos, id: qos > 0 ? bytes.readUInt16BE(idAt) : 0 });
    this.#skip = Math.max(0, end - bytes.length);
    return Math.min(end, bytes.length);
  }
}

/**
 * [MQTT 2.1.4]
 * @param {Buffer} bytes
 * @param {number} at where a packet begins
 * @returns {number} where its body begins, 0 = its length is incomplete
 */
function bodyOf(bytes, at) {
  for (let i = at + 1; i < at + 5; i++) {
    if (i >= bytes.length) return 0;
    if (bytes[i] < 0x80) return i + 1;
  }
  throw new MalformedError('a length of more than four bytes');
}

/** @param {Buffer} bytes @param {number} at where a packet begins whose length is complete */
function lengthOf(bytes, at) {
  let length = 0;
  for (let i = 0; ; i++) {
    const byte = bytes[at + 1 + i];
    length += (byte & 0x7f) * 128 ** i;
    if (byte < 0x80) return length;
  }
}

exports.PublishTap = PublishTap;
