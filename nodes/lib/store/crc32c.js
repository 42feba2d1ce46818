'use strict';
// Computes CRC-32C (Castagnoli), the checksum of the log, with the algorithm of native/core/log/crc32c.cc: slicing by
// 8.

const POLYNOMIAL = 0x82f63b78; // reflected

/** tables[k * 256 + b]: the effect of byte b on the checksum when k more bytes follow it. */
const tables = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
  tables[byte] = crc;
}
for (let i = 256; i < tables.length; i++) {
  const before = tables[i - 256];
  tables[i] = (before >>> 8) ^ tables[before & 255];
}

/**
 * @param {Uint8Array} bytes
 * @param {number} [start] begin of the part of `bytes` that counts
 * @param {number} [end] end of that part
 * @param {number} [crc] checksum of the bytes before it
 * @returns {number} 0 to 2^32 - 1
 */
function crc32c(bytes, start = 0, end = bytes.length, crc = 0) {
  let at = start;
  crc = ~crc;
  for (; at + 8 <= end; at += 8) {
    crc ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    crc =
      tables[1792 + (crc & 255)] ^
      tables[1536 + ((crc >>> 8) & 255)] ^
      tables[1280 + ((crc >>> 16) & 255)] ^
      tables[1024 + (crc >>> 24)] ^
      tables[768 + bytes[at + 4]] ^
      tables[512 + bytes[at + 5]] ^
      tables[256 + bytes[at + 6]] ^
      tables[bytes[at + 7]];
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ tables[(crc ^ bytes[at]) & 255];
  return ~crc >>> 0;
}

module.exports = { crc32c };
