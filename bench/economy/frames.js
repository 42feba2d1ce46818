'use strict';
// The few packets of MQTT 3.1.1 that devices and receiver of the runs over a link need. A library would take more CPU
// time than the measured system.

const TYPE = Object.freeze({ CONNACK: 2, PUBLISH: 3, PUBACK: 4, SUBACK: 9 });
const MOST_LENGTH_BYTES = 4;

/** @param {number} value @returns {Buffer} */
function u16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** @param {string} value @returns {Buffer} a UTF-8 string with its length [MQTT 1.5.3] */
function text(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([u16(bytes.length), bytes]);
}

/** @param {number} length @returns {Buffer} [MQTT 2.2.3] */
function remaining(length) {
  const bytes = [];
  for (; length > 127; length >>>= 7) bytes.push((length & 0x7f) | 0x80);
  return Buffer.from([...bytes, length]);
}

/** @param {number} first byte @param {Buffer[]} parts */
function packet(first, ...parts) {
  const rest = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([first]), remaining(rest.length), rest]);
}

/** Returns a CONNECT with a clean session and without a keep-alive. @param {string} clientId */
const connect = (clientId) => packet(0x10, text('MQTT'), Buffer.from([4, 2, 0, 0]), text(clientId));

/** Returns a SUBSCRIBE at QoS 0. @param {string[]} filters */
const subscribe = (filters) =>
  packet(0x82, u16(1), ...filters.flatMap((filter) => [text(filter), Buffer.from([0])]));

/**
 * Returns a PUBLISH at QoS 1 with the packet identifier 0, and where the identifier is in it.
 * @param {string} topic @param {Buffer} payload
 */
function publish(topic, payload) {
  const bytes = packet(0x32, text(topic), u16(0), payload);
  return { bytes, idAt: bytes.length - payload.length - 2 };
}

/** Cuts a stream into packets. */
class Frames {
  #rest = Buffer.alloc(0);

  /**
   * @param {Buffer} chunk
   * @returns {{ type: number, flags: number, body: Buffer }[]} the packets that are complete now
   */
  push(chunk) {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const found = [];
    let at = 0;
    for (;;) {
      const size = sizeAt(bytes, at);
      if (!size || at + size.head + size.body > bytes.length) break;
      const start = at + size.head;
      at = start + size.body;
      found.push({
        type: bytes[start - size.head] >> 4,
        flags: bytes[start - size.head] & 0x0f,
        body: bytes.subarray(start, at)
      });
    }
    this.#rest = bytes.subarray(at);
    return found;
  }
}

/** @param {Buffer} bytes @param {number} at @returns {{ head: number, body: number } | null} null: incomplete */
function sizeAt(bytes, at) {
  let body = 0;
  for (let i = 0; i < MOST_LENGTH_BYTES; i++) {
    const byte = bytes[at + 1 + i];
    if (byte === undefined) return null;
    body |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return { head: 2 + i, body };
  }
  throw new Error('This is no MQTT packet: its length has more than four bytes.');
}

/** @param {{ flags: number, body: Buffer }} frame of a PUBLISH @returns {{ topic: string, payload: Buffer }} */
function messageOf({ flags, body }) {
  const end = 2 + body.readUInt16BE(0);
  const hasId = (flags & 0x06) !== 0;
  return { topic: body.toString('utf8', 2, end), payload: body.subarray(end + (hasId ? 2 : 0)) };
}

module.exports = { Frames, TYPE, connect, messageOf, publish, subscribe };
