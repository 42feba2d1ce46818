'use strict';
// CBOR as JSON, and JSON as CBOR (RFC 8949 section 6).

const { isUtf8 } = require('node:buffer');
const { Cursor, MAJOR } = require('../../base/cbor');

const LIMITS = { bytes: 262144, depth: 16, items: 65536, textBytes: 1048576 };

/** Tags of RFC 8949 section 3.4 that change how a byte string becomes text. */
const [BIGNUM, NEGATIVE_BIGNUM, AS_BASE64, AS_BASE16] = [2, 3, 22, 23];
const [FALSE, TRUE, FIRST_FLOAT] = [20, 21, 25];
const MALFORMED = 'is not well-formed CBOR';
const CONTROL = /\p{Cc}/u;
/** Whole numbers beyond the safe ones of JavaScript have at least so many digits. */
const LONG_NUMBER = /\d{16}/;
const WHOLE = /^-?\d{1,20}$/;
/** CBOR has the whole numbers n and -1 - n below this without a tag. */
const LIMIT = 1n << 64n;

/** What cannot become JSON or CBOR; the message follows "The body ". */
class ConversionError extends Error {}

/** @typedef {import('../../base/cbor/cursor').Cursor} CborCursor */
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
  const cursor = new Cursor(bytes, limits.items, (fault) => new ConversionError(sentenceOf(fault, limits)));
  const reader = new Reader(cursor, limits);
  reader.item(0, base64url);
  if (cursor.left > 0) throw new ConversionError('has bytes after its end');
  return reader.text;
}

/** @param {import('../../base/cbor/cursor').Fault} fault @param {typeof LIMITS} limits */
function sentenceOf(fault, limits) {
  switch (fault) {
    case 'ends':
      return 'ends early';
    case 'utf8':
      return 'has text that is not UTF-8';
    case 'items':
      return `has more than ${limits.items} items`;
    default:
      return MALFORMED;
  }
}

/** Walks over CBOR and writes JSON. */
class Reader {
  #cursor;
  #limits;
  /** @type {string[]} */
  #out = [];
  #size = 0;

  /** @param {CborCursor} cursor @param {typeof LIMITS} limits */
  constructor(cursor, limits) {
    this.#cursor = cursor;
    this.#limits = limits;
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
    const cursor = this.#cursor;
    cursor.head();
    const { major, argument } = cursor;
    if (major === MAJOR.UINT || major === MAJOR.NEGATIVE) this.#write(wholeOf(cursor));
    else if (major === MAJOR.BYTES) this.#write(JSON.stringify(spelling(cursor.string())));
    else if (major === MAJOR.TEXT) this.#write(JSON.stringify(cursor.text()));
    else if (major === MAJOR.SIMPLE) this.#write(simpleOf(cursor));
    else if (depth >= this.#limits.depth) {
      throw new ConversionError(`is nested deeper than ${this.#limits.depth} levels`);
    } else if (major === MAJOR.TAG) this.item(depth + 1, SPELLINGS.get(Number(argument)) ?? spelling);
    else if (major === MAJOR.ARRAY) this.#array(depth, spelling);
    else this.#map(depth, spelling);
  }

  /** @param {number} depth @param {Spelling} spelling */
  #array(depth, spelling) {
    const cursor = this.#cursor;
    const { isOpen, argument: size } = cursor;
    this.#write('[');
    for (let i = 0; isOpen ? !cursor.atBreak() : i < size; i++) {
      if (i > 0) this.#write(',');
      this.item(depth + 1, spelling);
    }
    this.#write(']');
  }

  /** @param {number} depth @param {Spelling} spelling */
  #map(depth, spelling) {
    const cursor = this.#cursor;
    const { isOpen, argument: size } = cursor;
    const keys = new Set();
    this.#write('{');
    for (let i = 0; isOpen ? !cursor.atBreak() : i < size; i++) {
      const key = this.#key();
      if (keys.has(key)) throw new ConversionError('has a map key twice');
      keys.add(key);
      this.#write(`${i > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      this.item(depth + 1, spelling);
    }
    this.#write('}');
  }

  /** @returns {string} of a text, or a whole number */
  #key() {
    const cursor = this.#cursor;
    cursor.head();
    if (cursor.major === MAJOR.TEXT) return cursor.text();
    if (cursor.major === MAJOR.UINT || cursor.major === MAJOR.NEGATIVE) return wholeOf(cursor);
    throw new ConversionError('has a map key that is neither a text nor a whole number');
  }
}

/** @param {CborCursor} cursor behind the head of a whole number @returns {string} */
function wholeOf({ major, argument }) {
  return String(major === MAJOR.UINT ? argument : -1n - BigInt(argument));
}

/** @param {CborCursor} cursor behind the head of a simple value or a float @returns {string} */
function simpleOf(cursor) {
  if (cursor.isOpen) throw new ConversionError(MALFORMED);
  if (cursor.info >= FIRST_FLOAT) return JSON.stringify(cursor.float());
  if (cursor.info === FALSE) return 'false';
  return cursor.info === TRUE ? 'true' : 'null';
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
