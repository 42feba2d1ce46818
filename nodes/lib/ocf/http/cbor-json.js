'use strict';
// CBOR as JSON, and JSON as CBOR (RFC 8949 section 6).

const { isUtf8 } = require('node:buffer');

const LIMITS = { bytes: 262144, depth: 16, items: 65536, textBytes: 1048576 };

const [UINT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG] = [0, 1, 2, 3, 4, 5, 6];
const BREAK = 0xff;
const OPEN = 31;
/** Tags of RFC 8949 section 3.4 that change how a byte string becomes text. */
const [BIGNUM, NEGATIVE_BIGNUM, AS_BASE64, AS_BASE16] = [2, 3, 22, 23];
const CONTROL = /\p{Cc}/u;
/** Whole numbers beyond the safe ones of JavaScript have at least so many digits. */
const LONG_NUMBER = /\d{16}/;
const WHOLE = /^-?\d{1,20}$/;
/** CBOR has the whole numbers n and -1 - n below this without a tag. */
const LIMIT = 1n << 64n;

/** What cannot become JSON or CBOR; the message follows "The body ". */
class ConversionError extends Error {}

/** @typedef {(bytes: Buffer) => string} Spelling of a byte string */

/** @type {Spelling} */
const base64url = (bytes) => bytes.toString('base64url');
/** @type {Map<number, Spelling>} */
const SPELLINGS = new Map([
  [BIGNUM, base64url],
  [NEGATIVE_BIGNUM, (bytes) => `~${base64url(bytes)}`],
  [AS_BASE64, (bytes) => bytes.toString('base64')],
  [AS_BASE16, (bytes) => bytes.toString('hex')]
]);

/**
 * Returns a CBOR item as JSON text: byte strings in base64url, whatever JSON does not have as null, tags left out.
 * @param {Buffer} bytes
 * @param {typeof LIMITS} [limits]
 * @returns {string} in one line
 * @throws {ConversionError}
 */
function jsonOf(bytes, limits = LIMITS) {
  if (bytes.length > limits.bytes) throw new ConversionError(`has more than ${limits.bytes} bytes`);
  const reader = new Reader(bytes, limits);
  reader.item(0, base64url);
  if (!reader.isAtEnd) throw new ConversionError('has bytes after its end');
  return reader.text;
}

/** Walks over CBOR and writes JSON. */
class Reader {
  #bytes;
  #limits;
  #items;
  #at = 0;
  /** @type {string[]} */
  #out = [];
  #size = 0;

  /** @param {Buffer} bytes @param {typeof LIMITS} limits */
  constructor(bytes, limits) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#items = limits.items;
  }

  get isAtEnd() {
    return this.#at === this.#bytes.length;
  }

  get text() {
    return this.#out.join('');
  }

  /** @param {string} text */
  #write(text) {
    this.#size += text.length;
    if (this.#size > this.#limits.textBytes) throw new ConversionError('is too long as JSON');
    this.#out.push(text);
  }

  /** @param {number} depth of maps, arrays and tags around it @param {Spelling} spelling of byte strings in it */
  item(depth, spelling) {
    if (--this.#items < 0) throw new ConversionError(`has more than ${this.#limits.items} items`);
    const start = this.#at;
    const { major, info, value } = this.#head();
    if (major === UINT) this.#write(String(value));
    else if (major === NEGATIVE) this.#write(String(-1n - value));
    else if (major === BYTES) this.#write(JSON.stringify(spelling(this.#string(major, info, value))));
    else if (major === TEXT) this.#write(JSON.stringify(this.#string(major, info, value).toString()));
    else if (major > MAP && major !== TAG) this.#write(this.#simple(start, info));
    else if (depth >= this.#limits.depth) {
      throw new ConversionError(`is nested deeper than ${this.#limits.depth} levels`);
    } else if (major === TAG) this.item(depth + 1, SPELLINGS.get(Number(value)) ?? spelling);
    else if (major === ARRAY) this.#array(info, value, depth, spelling);
    else this.#map(info, value, depth, spelling);
  }

  /** @param {number} info @param {bigint} count @param {number} depth @param {Spelling} spelling */
  #array(info, count, depth, spelling) {
    this.#write('[');
    for (let i = 0n; info === OPEN ? !this.#atBreak() : i < count; i++) {
      if (i > 0n) this.#write(',');
      this.item(depth + 1, spelling);
    }
    this.#write(']');
  }

  /** @param {number} info @param {bigint} count @param {number} depth @param {Spelling} spelling */
  #map(info, count, depth, spelling) {
    const keys = new Set();
    this.#write('{');
    for (let i = 0n; info === OPEN ? !this.#atBreak() : i < count; i++) {
      const key = this.#key();
      if (keys.has(key)) throw new ConversionError('has a map key twice');
      keys.add(key);
      this.#write(`${i > 0n ? ',' : ''}${JSON.stringify(key)}:`);
      this.item(depth + 1, spelling);
    }
    this.#write('}');
  }

  /** @returns {string} of a text, or a whole number */
  #key() {
    if (--this.#items < 0) throw new ConversionError(`has more than ${this.#limits.items} items`);
    const { major, info, value } = this.#head();
    if (major === TEXT) return this.#string(major, info, value).toString();
    if (major === UINT) return String(value);
    if (major === NEGATIVE) return String(-1n - value);
    throw new ConversionError('has a map key that is neither a text nor a whole number');
  }

  /** @param {number} start of the item @param {number} info @returns {string} */
  #simple(start, info) {
    if (info === 20) return 'false';
    if (info === 21) return 'true';
    if (info < 25) return 'null';
    if (info === OPEN) throw malformed();
    const number =
      info === 25
        ? half(this.#bytes.readUInt16BE(start + 1))
        : info === 26
          ? this.#bytes.readFloatBE(start + 1)
          : this.#bytes.readDoubleBE(start + 1);
    return JSON.stringify(number);
  }

  /** @returns {{ major: number, info: number, value: bigint }} */
  #head() {
    const first = this.#byte();
    const [major, info] = [first >> 5, first & 31];
    if (info < 24) return { major, info, value: BigInt(info) };
    if (info === OPEN && major !== UINT && major !== NEGATIVE && major !== TAG)
      return { major, info, value: 0n };
    if (info > 27) throw malformed();
    let value = 0n;
    for (let n = 1 << (info - 24); n > 0; n--) value = (value << 8n) | BigInt(this.#byte());
    if (major === 7 && info === 24 && value < 32n) throw malformed();
    return { major, info, value };
  }

  /** @param {number} major @param {number} info @param {bigint} length @returns {Buffer} */
  #string(major, info, length) {
    if (info !== OPEN) return this.#take(major, length);
    const parts = [];
    while (!this.#atBreak()) {
      if (--this.#items < 0) throw new ConversionError(`has more than ${this.#limits.items} items`);
      const part = this.#head();
      if (part.major !== major || part.info === OPEN) throw malformed();
      parts.push(this.#take(major, part.value));
    }
    return Buffer.concat(parts);
  }

  /** @param {number} major @param {bigint} length @returns {Buffer} */
  #take(major, length) {
    if (length > BigInt(this.#bytes.length - this.#at)) throw endsEarly();
    const part = this.#bytes.subarray(this.#at, this.#at + Number(length));
    this.#at += part.length;
    if (major === TEXT && !isUtf8(part)) throw new ConversionError('has text that is not UTF-8');
    return part;
  }

  #atBreak() {
    if (this.isAtEnd) throw endsEarly();
    if (this.#bytes[this.#at] !== BREAK) return false;
    this.#at++;
    return true;
  }

  #byte() {
    if (this.isAtEnd) throw endsEarly();
    return this.#bytes[this.#at++];
  }
}

const malformed = () => new ConversionError('is not well-formed CBOR');
const endsEarly = () => new ConversionError('ends early');

/** @param {number} bits of a half-precision number (RFC 8949 appendix D) */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : (fraction + 1024) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/**
 * Reads JSON within the limits. Whole numbers that JavaScript's numbers cannot hold exactly become a BigInt, if CBOR
 * has them without a tag.
 * @param {Buffer} bytes
 * @param {typeof LIMITS} [limits]
 * @returns {unknown}
 * @throws {ConversionError}
 */
function readJson(bytes, limits = LIMITS) {
  if (bytes.length > limits.bytes) throw new ConversionError(`has more than ${limits.bytes} bytes`);
  if (!isUtf8(bytes)) throw new ConversionError('is not UTF-8');
  const text = bytes.toString();
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The message may quote the body, with its control characters.
    const { message } = /** @type {Error} */ (error);
    throw new ConversionError(`is not JSON${CONTROL.test(message) ? '' : ` (${message})`}`);
  }
  let items = 0;
  const check = (/** @type {unknown} */ each, /** @type {number} */ depth) => {
    if (++items > limits.items) throw new ConversionError(`has more than ${limits.items} items`);
    if (typeof each !== 'object' || each === null) return;
    if (depth >= limits.depth) throw new ConversionError(`is nested deeper than ${limits.depth} levels`);
    for (const own of Object.values(each)) check(own, depth + 1);
  };
  check(value, 0);
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactNumber) : value;
}

/**
 * @param {string} _key
 * @param {unknown} value
 * @param {{ source?: string }} [context] the digits of a number (ECMAScript 2026)
 * @returns {unknown}
 */
function exactNumber(_key, value, { source = '' } = {}) {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !WHOLE.test(source)) return value;
  const whole = BigInt(source);
  return (whole < 0n ? -1n - whole : whole) < LIMIT ? whole : value;
}

module.exports = { jsonOf, readJson, ConversionError, LIMITS };
