'use strict';
// Builds CBOR from pieces that are encoded already: links are stored encoded, and discovery answers join them without
// decoding them.

const [TEXT, ARRAY, MAP] = [3, 4, 5];

/** Most entries of a map whose head is one byte. */
const MOST_SHORT = 23;

/** @param {number} major @param {number} count below 2^32 @returns {Buffer} */
function head(major, count) {
  if (count < 24) return Buffer.from([(major << 5) | count]);
  if (count < 256) return Buffer.from([(major << 5) | 24, count]);
  const isShort = count < 65536;
  const bytes = Buffer.alloc(isShort ? 3 : 5);
  bytes[0] = (major << 5) | (isShort ? 25 : 26);
  if (isShort) bytes.writeUInt16BE(count, 1);
  else bytes.writeUInt32BE(count, 1);
  return bytes;
}

/** @param {string} value @returns {Buffer} */
function text(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([head(TEXT, bytes.length), bytes]);
}

/** @param {Uint8Array[]} items encoded @returns {Buffer} */
function array(items) {
  return Buffer.concat([head(ARRAY, items.length), ...items]);
}

/**
 * Adds entries to an encoded map.
 * @param {Uint8Array} map with fewer than 24 entries
 * @param {Buffer[]} pairs keys and values, encoded, in turn
 * @returns {Buffer}
 */
function extended(map, pairs) {
  return Buffer.concat([head(MAP, (map[0] & 31) + pairs.length / 2), map.subarray(1), ...pairs]);
}

module.exports = { MOST_SHORT, head, text, array, extended };
