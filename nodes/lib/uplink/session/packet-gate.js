'use strict';

const { Transform } = require('node:stream');

const PUBLISH = 3;
/** [MQTT 2.1.4] The type, and a length of at most four bytes. */
const MAX_HEAD_BYTES = 5;
const EMPTY = Buffer.alloc(0);

/**
 * Passes on the packets of a peer that is not trusted, each whole. mqtt.js has no limit of its own: it collects a
 * packet of up to 256 MiB, in a list of as many buffers as the peer cares to send, and keeps messages of QoS 2 until
 * their PUBREL. A packet that arrives in pieces is collected here, in one buffer of its size.
 *
 * Fails as soon as the head of a packet announces more than maxBytes, or a QoS that was not subscribed to.
 */
class PacketGate extends Transform {
  #maxBytes;
  /** Begin of a head whose length is incomplete. @type {Buffer} */
  #head = EMPTY;
  /** Packet that is incomplete. @type {Buffer | null} */
  #packet = null;
  #filled = 0;

  /** @param {number} maxBytes of a packet */
  constructor(maxBytes) {
    super();
    this.#maxBytes = maxBytes;
  }

  /**
   * @override
   * @param {Buffer} chunk
   * @param {string} _
   * @param {(error?: Error | null) => void} done
   */
  _transform(chunk, _, done) {
    try {
      this.#read(this.#head.length > 0 ? Buffer.concat([this.#head, chunk]) : chunk);
    } catch (error) {
      return done(/** @type {Error} */ (error));
    }
    done();
  }

  /** @param {Buffer} bytes */
  #read(bytes) {
    this.#head = EMPTY;
    let at = this.#fill(bytes, 0);
    const from = at;
    let size = 0;
    while (at < bytes.length) {
      size = this.#sizeAt(bytes, at);
      if (size === 0 || at + size > bytes.length) break;
      at += size;
    }
    if (at > from) this.push(bytes.subarray(from, at));
    if (at === bytes.length) return;
    // Copies, which do not keep the chunk.
    if (size === 0) this.#head = Buffer.from(bytes.subarray(at));
    else {
      this.#packet = Buffer.allocUnsafeSlow(size);
      this.#filled = 0;
      this.#fill(bytes, at);
    }
  }

  /**
   * Continues the incomplete packet, if there is one.
   * @param {Buffer} bytes
   * @param {number} at
   * @returns {number} where the next packet begins
   */
  #fill(bytes, at) {
    if (!this.#packet) return at;
    const count = bytes.copy(this.#packet, this.#filled, at);
    this.#filled += count;
    if (this.#filled === this.#packet.length) {
      this.push(this.#packet);
      this.#packet = null;
    }
    return at + count;
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at where a packet begins
   * @returns {number} its size, 0 = its length is incomplete
   * @throws {Error} with a sentence
   */
  #sizeAt(bytes, at) {
    const first = bytes[at];
    if (first >> 4 === PUBLISH && (first & 6) > 2)
      throw refusal('The broker sends a message with QoS 2, but this client subscribes with QoS 1 at most.');
    let length = 0;
    for (let i = 1; i < MAX_HEAD_BYTES; i++) {
      if (at + i >= bytes.length) return 0;
      length += (bytes[at + i] & 0x7f) * 128 ** (i - 1);
      if (bytes[at + i] >= 0x80) continue;
      const size = 1 + i + length;
      if (size <= this.#maxBytes) return size;
      throw refusal(
        `The broker sends a packet of ${size} bytes; this client accepts ${this.#maxBytes} at most.`
      );
    }
    throw refusal('The broker sends bytes that are not MQTT: a length of more than four bytes.');
  }
}

/** @param {string} sentence */
function refusal(sentence) {
  return Object.assign(new Error(sentence), { code: 'PACKET_REFUSED' });
}

exports.PacketGate = PacketGate;
