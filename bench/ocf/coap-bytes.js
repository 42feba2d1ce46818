'use strict';
// Bytes of CoAP over TCP (RFC 8323 section 3.2) for load generators.

const fs = require('node:fs');

/** @typedef {[number: number, value: Uint8Array | string]} Option */

/**
 * Returns the nibble for a number in an option's head, and the bytes that follow it.
 * @param {number} value
 * @returns {[number, Buffer]}
 */
function extended(value) {
  if (value < 13) return [value, Buffer.alloc(0)];
  if (value < 269) return [13, Buffer.from([value - 13])];
  return [14, Buffer.from([(value - 269) >> 8, (value - 269) & 255])];
}

/**
 * Returns options and payload as they are in a message.
 * @param {Option[]} options in ascending order
 * @param {Uint8Array} [payload]
 */
function coapBody(options, payload = Buffer.alloc(0)) {
  const parts = [];
  let last = 0;
  for (const [number, value] of options) {
    const bytes = Buffer.from(/** @type {string} */ (value));
    const [delta, moreDelta] = extended(number - last);
    const [size, moreSize] = extended(bytes.length);
    parts.push(Buffer.from([(delta << 4) | size]), moreDelta, moreSize, bytes);
    last = number;
  }
  if (payload.length > 0) parts.push(Buffer.from([0xff]), payload);
  return Buffer.concat(parts);
}

const TOKEN = Buffer.from([1]);

/**
 * Returns a message.
 * @param {number} code @param {Buffer} body of coapBody() @param {Buffer} [token]
 */
function coapFrame(code, body, token = TOKEN) {
  const [nibble, more] = extended(body.length);
  const head = Buffer.from([(nibble << 4) | token.length]);
  return Buffer.concat([head, more, Buffer.from([code]), token, body]);
}

/**
 * Returns the payload of a message.
 * @param {Buffer} body options and payload
 */
function payloadOf(body) {
  let at = 0;
  const more = (/** @type {number} */ nibble) => {
    if (nibble < 13) return nibble;
    at += nibble - 12;
    return nibble === 13 ? body[at - 1] + 13 : body.readUInt16BE(at - 2) + 269;
  };
  while (at < body.length && body[at] !== 0xff) {
    const head = body[at++];
    more(head >> 4);
    const size = more(head & 15);
    at += size;
  }
  return body.subarray(at + 1);
}

/**
 * Writes byte strings as the load generators read them (bench/common/list.h).
 * @param {string} file @param {Buffer[]} list
 */
function writeList(file, list) {
  const parts = list.flatMap((bytes) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    return [size, bytes];
  });
  fs.writeFileSync(file, Buffer.concat(parts));
  return file;
}

/** @param {string} file @returns {Buffer[]} */
function readList(file) {
  const bytes = fs.readFileSync(file);
  const list = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const end = at + 4 + bytes.readUInt32LE(at);
    list.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return list;
}

module.exports = { coapBody, coapFrame, payloadOf, writeList, readList };
