'use strict';
// Messages of CoAP over TCP (RFC 8323) between gateways. Bytes that are no message, or that exceed a limit, are an
// error: the link that they came from ends.

/** @typedef {import('../../cloud/coap').Option} Option */
/** @typedef {{ code: number, token: Buffer, options: Option[], payload: Buffer }} Message */

const SIGNAL = { CSM: 0xe1, PING: 0xe2, PONG: 0xe3, RELEASE: 0xe4, ABORT: 0xe5 };
/** Largest body between a controller and a device (256 KiB), and its options. */
const MOST_MESSAGE_BYTES = 320 * 1024;
const MOST_OPTIONS = 256;
const MOST_TOKEN = 8;
const EMPTY = Buffer.alloc(0);
/** Number of extra bytes of a length, and what they add to, for the nibbles 13, 14, 15. */
const LENGTHS = [
  { bytes: 1, base: 13 },
  { bytes: 2, base: 269 },
  { bytes: 4, base: 65805 }
];

class MessageError extends Error {}

/**
 * @param {number} value
 * @param {number} kinds 2 for options (RFC 7252, 3.1), 3 for messages (RFC 8323, 3.2)
 * @returns {{ nibble: number, more: Buffer }}
 */
function extended(value, kinds) {
  if (value < LENGTHS[0].base) return { nibble: value, more: EMPTY };
  const kind = kinds === 3 && value >= LENGTHS[2].base ? 2 : value >= LENGTHS[1].base ? 1 : 0;
  const { bytes, base } = LENGTHS[kind];
  const more = Buffer.alloc(bytes);
  more.writeUIntBE(value - base, 0, bytes);
  return { nibble: LENGTHS[0].base + kind, more };
}

/**
 * @param {{ code: number, token?: Buffer, options?: Option[], payload?: Uint8Array }} message
 * @returns {Buffer}
 */
function encodeMessage({ code, token = EMPTY, options = [], payload = EMPTY }) {
  const parts = [];
  let last = 0;
  // A stable sort: options of one number keep their order.
  for (const [number, value] of [...options].sort(([a], [b]) => a - b)) {
    const delta = extended(number - last, 2);
    const length = extended(value.length, 2);
    parts.push(Buffer.from([(delta.nibble << 4) | length.nibble]), delta.more, length.more, value);
    last = number;
  }
  if (payload.length > 0) parts.push(Buffer.from([0xff]), payload);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const { nibble, more } = extended(size, 3);
  return Buffer.concat([
    Buffer.from([(nibble << 4) | token.length]),
    more,
    Buffer.from([code]),
    token,
    ...parts
  ]);
}

/** Cuts a stream into messages. */
class MessageReader {
  /** @type {Buffer[]} */
  #parts = [];
  #size = 0;
  /** Bytes without which there is no further message. */
  #needed = 2;

  /**
   * @param {Buffer} bytes
   * @returns {Message[]}
   * @throws {MessageError} nothing can be read after it
   */
  feed(bytes) {
    this.#parts.push(bytes);
    this.#size += bytes.length;
    /** @type {Message[]} */
    const messages = [];
    if (this.#size < this.#needed) return messages;
    let held = Buffer.concat(this.#parts, this.#size);
    for (;;) {
      const size = sizeOf(held);
      if (size === 0 || held.length < size) {
        this.#needed = size || held.length + 1;
        break;
      }
      messages.push(decodeMessage(held.subarray(0, size)));
      held = held.subarray(size);
    }
    this.#parts = held.length > 0 ? [Buffer.from(held)] : [];
    this.#size = held.length;
    return messages;
  }
}

/** @param {Buffer} bytes @returns {number} of the first message, 0 = not known yet */
function sizeOf(bytes) {
  if (bytes.length === 0) return 0;
  const nibble = bytes[0] >> 4;
  const tokenBytes = bytes[0] & 15;
  if (tokenBytes > MOST_TOKEN) throw new MessageError('has a token of more than 8 bytes');
  let content = nibble;
  let head = 1;
  if (nibble >= LENGTHS[0].base) {
    const { bytes: more, base } = LENGTHS[nibble - LENGTHS[0].base];
    if (bytes.length < 1 + more) return 0;
    content = base + bytes.readUIntBE(1, more);
    head += more;
  }
  if (content > MOST_MESSAGE_BYTES) throw new MessageError(`has more than ${MOST_MESSAGE_BYTES} bytes`);
  return head + 1 + tokenBytes + content;
}

/** @param {Buffer} bytes one whole message @returns {Message} */
function decodeMessage(bytes) {
  const nibble = bytes[0] >> 4;
  const tokenBytes = bytes[0] & 15;
  const at = 1 + (nibble >= LENGTHS[0].base ? LENGTHS[nibble - LENGTHS[0].base].bytes : 0);
  const start = at + 1 + tokenBytes;
  const body = Buffer.from(bytes.subarray(start));
  return { code: bytes[at], token: Buffer.from(bytes.subarray(at + 1, start)), ...contentOf(body) };
}

/** @param {Buffer} body @returns {{ options: Option[], payload: Buffer }} */
function contentOf(body) {
  /** @type {Option[]} */
  const options = [];
  let at = 0;
  let number = 0;
  const value = (/** @type {number} */ nibble) => {
    if (nibble < LENGTHS[0].base) return nibble;
    if (nibble === 15) throw new MessageError('has a reserved option length');
    const { bytes, base } = LENGTHS[nibble - LENGTHS[0].base];
    if (at + bytes > body.length) throw new MessageError('ends in an option');
    at += bytes;
    return base + body.readUIntBE(at - bytes, bytes);
  };
  while (at < body.length) {
    const first = body[at++];
    if (first === 0xff) {
      if (at === body.length) throw new MessageError('has a payload marker without a payload');
      return { options, payload: body.subarray(at) };
    }
    number += value(first >> 4);
    const length = value(first & 15);
    if (number > 65535) throw new MessageError('has an option number above 65535');
    if (at + length > body.length) throw new MessageError('ends in an option');
    if (options.length >= MOST_OPTIONS) throw new MessageError(`has more than ${MOST_OPTIONS} options`);
    options.push([number, body.subarray(at, at + length)]);
    at += length;
  }
  return { options, payload: EMPTY };
}

module.exports = { SIGNAL, MOST_MESSAGE_BYTES, MOST_OPTIONS, MessageError, MessageReader, encodeMessage };
