'use strict';
// Encodes values as CBOR, with the shortest heads and definite lengths (RFC 8949 section 4.1).

const { types } = require('node:util');
const { LIMITS } = require('./bounds');
const { MAJOR } = require('./cursor');
const { halfBits } = require('./half');
const { Simple, Tagged } = require('./values');

const [FALSE, TRUE, NULL, UNDEFINED] = [0xf4, 0xf5, 0xf6, 0xf7];
const [HALF, SINGLE, DOUBLE] = [0xf9, 0xfa, 0xfb];
const MOST_HEAD_BYTES = 9;
/** Whole numbers n and -1 - n below this have no tag. */
const BIGNUM_FROM = 1n << 64n;
const [EPOCH, BIGNUM, NEGATIVE_BIGNUM] = [1, 2, 3];

/**
 * The sizes of floats that a writer uses. Each value has the smallest one that holds it exactly.
 *
 * - half: 16, 32 or 64 bits, the preferred serialization.
 * - single: 32 or 64 bits, as readers without floats of 16 bits need; but 16 bits for NaN, infinities and -0.
 * - double: 64 bits; -0 is the integer 0.
 * @typedef {'half' | 'single' | 'double'} Floats
 */

/**
 * Encodes a value.
 *
 * - Safe integers, and bigints below 2^64 from -2^64 on, are integers; other bigints are bignums (tags 2 and 3), other
 *   numbers floats.
 * - A Uint8Array (or Buffer) is a byte string. A lone surrogate of a text becomes U+FFFD.
 * - Maps keep keys of any type. Every other object is a map of its own enumerable members with names that are text,
 *   without those that are functions. A Date is seconds since 1970 (tag 1).
 *
 * @param {unknown} value
 * @param {{ floats?: Floats }} [options] default half
 * @returns {Buffer}
 * @throws {TypeError} if it has a function outside an object, a symbol, or an object such as a Set that has no form
 * @throws {RangeError} if it is nested deeper than 64 levels, or contains itself
 */
function encode(value, { floats } = {}) {
  const writer = new Writer(INITIAL_BYTES, floats);
  writer.value(value);
  return Buffer.from(writer.written);
}

const INITIAL_BYTES = 512;

/** Writes items one after another into one buffer, which grows. */
class Writer {
  #buffer;
  #floats;
  #at = 0;

  /** Returns a text on its own, encoded. @param {string} value @returns {Uint8Array} */
  static text(value) {
    const writer = new Writer(MOST_HEAD_BYTES + Buffer.byteLength(value));
    writer.text(value);
    return writer.take();
  }

  /** @param {number} bytes that will be written, about @param {Floats} [floats] */
  constructor(bytes, floats = 'half') {
    this.#buffer = Buffer.allocUnsafe(bytes);
    this.#floats = floats;
  }

  /** What was written: a view until the next call. */
  get written() {
    return this.#buffer.subarray(0, this.#at);
  }

  /**
   * Returns what was written, in memory of its own: a message to another thread copies the whole memory of a part.
   * @returns {Uint8Array}
   */
  take() {
    return new Uint8Array(this.written);
  }

  /** @param {number} count of the items that follow */
  array(count) {
    this.#head(MAJOR.ARRAY, count);
  }

  /** @param {number} count of the pairs that follow */
  map(count) {
    this.#head(MAJOR.MAP, count);
  }

  /** @param {string} value */
  text(value) {
    const length = Buffer.byteLength(value);
    this.#head(MAJOR.TEXT, length);
    this.#reserve(length);
    this.#at += this.#buffer.write(value, this.#at);
  }

  /** @param {Uint8Array} value a byte string */
  bytes(value) {
    this.#head(MAJOR.BYTES, value.length);
    this.encoded(value);
  }

  /** @param {Uint8Array} bytes of items that are CBOR already */
  encoded(bytes) {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** @param {number} value */
  number(value) {
    const isWhole = Number.isSafeInteger(value) && (this.#floats === 'double' || !Object.is(value, -0));
    if (!isWhole) this.#float(value);
    else if (value < 0) this.#head(MAJOR.NEGATIVE, -1 - value);
    else this.#head(MAJOR.UINT, value);
  }

  /** @param {bigint} value */
  bigint(value) {
    const argument = value < 0n ? -1n - value : value;
    if (argument < BIGNUM_FROM) return this.#head(value < 0n ? MAJOR.NEGATIVE : MAJOR.UINT, argument);
    this.#head(MAJOR.TAG, value < 0n ? NEGATIVE_BIGNUM : BIGNUM);
    const digits = argument.toString(16);
    return this.bytes(Buffer.from(digits.length % 2 ? `0${digits}` : digits, 'hex'));
  }

  /**
   * Writes any value, as encode() does.
   * @param {unknown} value
   * @param {number} [depth] of what is around it
   * @returns {void}
   */
  value(value, depth = 0) {
    switch (typeof value) {
      case 'string':
        return this.text(value);
      case 'number':
        return this.number(value);
      case 'boolean':
        return this.#byte(value ? TRUE : FALSE);
      case 'bigint':
        return this.bigint(value);
      case 'undefined':
        return this.#byte(UNDEFINED);
      case 'object':
        return value === null ? this.#byte(NULL) : this.#object(value, depth);
      default:
        throw formless(`A ${typeof value}`);
    }
  }

  /** @param {object} value @param {number} depth @returns {void} */
  #object(value, depth) {
    // By their kind, not by instanceof: a function node has objects of another context.
    if (types.isUint8Array(value)) return this.bytes(value);
    if (depth >= LIMITS.depth)
      throw new RangeError(`The value is nested deeper than ${LIMITS.depth} levels.`);
    if (Array.isArray(value)) return this.#items(value, depth + 1);
    if (types.isMap(value)) return this.#members(value.size, value, depth + 1);
    if (value instanceof Tagged) {
      this.#head(MAJOR.TAG, value.tag);
      return this.value(value.value, depth + 1);
    }
    if (value instanceof Simple) return this.#head(MAJOR.SIMPLE, value.value);
    if (types.isDate(value)) {
      this.#head(MAJOR.TAG, EPOCH);
      return this.number(value.getTime() / 1000);
    }
    if (types.isBoxedPrimitive(value)) return this.value(value.valueOf(), depth + 1);
    if (hasNoForm(value)) throw formless(`An object of the type ${value.constructor.name}`);
    const members = Object.entries(value).filter(([, each]) => typeof each !== 'function');
    return this.#members(members.length, members, depth + 1);
  }

  /** @param {unknown[]} items @param {number} depth */
  #items(items, depth) {
    this.array(items.length);
    // Not forEach(), which leaves out the holes of an array.
    for (const each of items) this.value(each, depth);
  }

  /** @param {number} size @param {Iterable<[unknown, unknown]>} members @param {number} depth */
  #members(size, members, depth) {
    this.map(size);
    for (const [key, each] of members) {
      this.value(key, depth);
      this.value(each, depth);
    }
  }

  /** @param {number} value */
  #float(value) {
    const half = this.#floats === 'double' ? -1 : halfBits(value);
    if (half >= 0 && (this.#floats === 'half' || value === 0 || !Number.isFinite(value))) {
      this.#byte(HALF);
      this.#reserve(2);
      this.#at = this.#buffer.writeUInt16BE(half, this.#at);
    } else if (this.#floats !== 'double' && Math.fround(value) === value) {
      this.#byte(SINGLE);
      this.#reserve(4);
      this.#at = this.#buffer.writeFloatBE(value, this.#at);
    } else {
      this.#byte(DOUBLE);
      this.#reserve(8);
      this.#at = this.#buffer.writeDoubleBE(value, this.#at);
    }
  }

  /** @param {number} major @param {number | bigint} argument 0 to 2^64 - 1 */
  #head(major, argument) {
    this.#reserve(MOST_HEAD_BYTES);
    const buffer = this.#buffer;
    const type = major << 5;
    if (argument < 24) {
      buffer[this.#at++] = type | Number(argument);
    } else if (argument < 0x100) {
      buffer[this.#at++] = type | 24;
      buffer[this.#at++] = Number(argument);
    } else if (argument < 0x10000) {
      buffer[this.#at++] = type | 25;
      this.#at = buffer.writeUInt16BE(Number(argument), this.#at);
    } else if (argument < 0x100000000) {
      buffer[this.#at++] = type | 26;
      this.#at = buffer.writeUInt32BE(Number(argument), this.#at);
    } else {
      buffer[this.#at++] = type | 27;
      this.#at = buffer.writeBigUInt64BE(BigInt(argument), this.#at);
    }
  }

  /** @param {number} byte */
  #byte(byte) {
    this.#reserve(1);
    this.#buffer[this.#at++] = byte;
  }

  /** @param {number} bytes that will be written */
  #reserve(bytes) {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.written);
    this.#buffer = larger;
  }
}

/** True for what would be a map without members, and lose what it has. @param {object} value */
function hasNoForm(value) {
  return (
    types.isSet(value) ||
    types.isRegExp(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value) ||
    value instanceof URL
  );
}

/** @param {string} what */
const formless = (what) => new TypeError(`${what} has no form in CBOR.`);

exports.Writer = Writer;
exports.encode = encode;
