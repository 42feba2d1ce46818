'use strict';
// Parses a datagram as far as necessary to check it before the CoAP library receives it (RFC 7252, 3; RFC 7959, 2.2).

const ETAG = 4;
const BLOCK2 = 23;

const TYPE = /** @type {const} */ (['con', 'non', 'ack', 'rst']);

/**
 * @typedef {object} Datagram
 * @property {'con' | 'non' | 'ack' | 'rst'} type
 * @property {number} code
 * @property {number} messageId
 * @property {string} token hexadecimal
 * @property {string} etag hexadecimal, '' without one
 * @property {number} block number of the block, -1 without one
 */

/**
 * @param {Buffer} bytes
 * @returns {Datagram | null} null if it is not a CoAP message
 */
function parseDatagram(bytes) {
  if (bytes.length < 4 || bytes[0] >> 6 !== 1) return null;
  const tokenBytes = bytes[0] & 15;
  if (tokenBytes > 8 || bytes.length < 4 + tokenBytes) return null;
  const code = bytes[1];
  // An empty message consists of the header only (4.1).
  if (code === 0 && bytes.length !== 4) return null;
  const head = {
    type: TYPE[(bytes[0] >> 4) & 3],
    code,
    messageId: bytes.readUInt16BE(2),
    token: bytes.toString('hex', 4, 4 + tokenBytes)
  };
  let etag = '';
  let block = -1;
  let number = 0;
  for (let at = 4 + tokenBytes; at < bytes.length;) {
    // A payload marker without a payload is an error.
    if (bytes[at] === 0xff) return at + 1 < bytes.length ? { ...head, etag, block } : null;
    const delta = extended(bytes, at + 1, bytes[at] >> 4);
    const length = delta && extended(bytes, delta.next, bytes[at] & 15);
    if (!delta || !length || length.next + length.value > bytes.length) return null;
    number += delta.value;
    const value = bytes.subarray(length.next, length.next + length.value);
    if (number === ETAG) etag = value.toString('hex');
    if (number === BLOCK2) {
      if (value.length > 3) return null;
      block = value.length === 0 ? 0 : value.readUIntBE(0, value.length) >> 4;
    }
    at = length.next + length.value;
  }
  return { ...head, etag, block };
}

/**
 * @param {Buffer} bytes
 * @param {number} next
 * @param {number} nibble
 * @returns {{ value: number, next: number } | null}
 */
function extended(bytes, next, nibble) {
  if (nibble < 13) return { value: nibble, next };
  if (nibble === 13) return next < bytes.length ? { value: bytes[next] + 13, next: next + 1 } : null;
  if (nibble === 15 || next + 2 > bytes.length) return null;
  return { value: bytes.readUInt16BE(next) + 269, next: next + 2 };
}

module.exports = { parseDatagram };
