'use strict';
// The heads of CBOR items (RFC 8949 section 3).

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

module.exports = { head };
