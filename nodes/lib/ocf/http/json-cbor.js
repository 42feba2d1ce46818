'use strict';
// JSON as CBOR (RFC 8949 section 6.2). The encoder of the package `cbor` reads members such as `constructor` of the
// objects that it encodes, so it is not for objects that a client names.

const [NEGATIVE, TEXT, ARRAY, MAP] = [1, 3, 4, 5];
const [FALSE, TRUE, NULL, DOUBLE] = [0xf4, 0xf5, 0xf6, 0xfb];

/** @param {unknown} value of readJson() @returns {Buffer} */
function cborOf(value) {
  /** @type {Buffer[]} */
  const parts = [];
  write(value, parts);
  return Buffer.concat(parts);
}

/** @param {any} value @param {Buffer[]} parts */
function write(value, parts) {
  if (value === null) parts.push(Buffer.from([NULL]));
  else if (typeof value === 'boolean') parts.push(Buffer.from([value ? TRUE : FALSE]));
  else if (typeof value === 'number') parts.push(number(value));
  else if (typeof value === 'bigint') parts.push(value < 0n ? head(NEGATIVE, -1n - value) : head(0, value));
  else if (typeof value === 'string') text(value, parts);
  else if (Array.isArray(value)) {
    parts.push(head(ARRAY, value.length));
    for (const each of value) write(each, parts);
  } else {
    const entries = Object.entries(value);
    parts.push(head(MAP, entries.length));
    for (const [key, each] of entries) {
      text(key, parts);
      write(each, parts);
    }
  }
}

/** @param {string} value @param {Buffer[]} parts */
function text(value, parts) {
  // A lone surrogate becomes U+FFFD: CBOR has only UTF-8.
  const bytes = Buffer.from(value);
  parts.push(head(TEXT, bytes.length), bytes);
}

/** @param {number} value @returns {Buffer} */
function number(value) {
  if (Number.isSafeInteger(value)) return value < 0 ? head(NEGATIVE, -1 - value) : head(0, value);
  const bytes = Buffer.alloc(9);
  bytes[0] = DOUBLE;
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** @param {number} major @param {number | bigint} count 0 to 2^53, as a bigint to 2^64 - 1 @returns {Buffer} */
function head(major, count) {
  const high = major << 5;
  if (count < 24) return Buffer.from([high | Number(count)]);
  const size = count < 0x100 ? 1 : count < 0x10000 ? 2 : count < 0x100000000 ? 4 : 8;
  const bytes = Buffer.alloc(1 + size);
  bytes[0] = high | (24 + Math.log2(size));
  if (size === 8) bytes.writeBigUInt64BE(BigInt(count), 1);
  else bytes.writeUIntBE(Number(count), 1, size);
  return bytes;
}

exports.cborOf = cborOf;
