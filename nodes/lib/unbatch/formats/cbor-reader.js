'use strict';
// Reads the CBOR (RFC 8949) that the gateway's encoders write: items with a length, no tags but decimal fractions. The
// bytes are network input.

const { Cursor, MAJOR } = require('../../base/cbor');
const { MAX_DEPTH, MAX_ITEMS } = require('./json-reader');

/** @typedef {import('../../base/cbor/cursor').Cursor} CborCursor */
/** @typedef {import('../../base/cbor/cursor').Fault} Fault */

const DECIMAL_FRACTION = 4;
const [FALSE, TRUE, NULL] = [20, 21, 22];
/** The simple values of the format, and floats of 16, 32 and 64 bits. */
const USED = new Set([FALSE, TRUE, NULL, 25, 26, 27]);
const NO_LENGTH = 'has a CBOR item without a length, which the format does not use';

class CborReader {
  #cursor;

  /** @param {Buffer} bytes @param {number} [maxItems] */
  constructor(bytes, maxItems = MAX_ITEMS) {
    this.#cursor = new Cursor(
      bytes,
      maxItems,
      (fault, cursor) => new TypeError(sentenceOf(fault, cursor, maxItems))
    );
  }

  /** @returns {boolean} */
  get atEnd() {
    return this.#cursor.left === 0;
  }

  /**
   * Reads one item. This and all other methods throw a TypeError that ends the sentence "Record 2 of the envelope …".
   * @param {number} [depth] of the arrays and maps around it
   * @returns {unknown} a map as an object; an integer beyond 2^53 as the nearest number
   */
  value(depth = 0) {
    const cursor = this.#head();
    const { argument } = cursor;
    switch (cursor.major) {
      case MAJOR.UINT:
        return Number(argument);
      case MAJOR.NEGATIVE:
        return typeof argument === 'number' ? -1 - argument : Number(-1n - argument);
      case MAJOR.BYTES:
        return Buffer.from(cursor.string());
      case MAJOR.TEXT:
        return cursor.text();
      case MAJOR.ARRAY:
        return this.#array(cursor.count(), depth + 1);
      case MAJOR.MAP:
        return this.#object(cursor.count(), depth + 1);
      case MAJOR.TAG:
        return this.#fraction(argument);
      default:
        return simpleOf(cursor);
    }
  }

  /** Reads the head of a map. @returns {number} its members */
  mapSize() {
    const cursor = this.#head();
    if (cursor.major !== MAJOR.MAP) throw new TypeError('is not a CBOR map');
    return cursor.count();
  }

  /** Reads the head of an array. @returns {number} its elements */
  arraySize() {
    const cursor = this.#head();
    if (cursor.major !== MAJOR.ARRAY) throw new TypeError('is not a CBOR array');
    return cursor.count();
  }

  /** @returns {number | string} an integer or text */
  key() {
    const key = this.value(MAX_DEPTH);
    if (typeof key === 'string' || Number.isSafeInteger(key)) return /** @type {number | string} */ (key);
    throw new TypeError('has a key that is neither an integer nor text');
  }

  /** @returns {CborCursor} */
  #head() {
    const cursor = this.#cursor;
    cursor.head();
    if (cursor.major === MAJOR.SIMPLE) {
      if (!USED.has(cursor.info)) throw new TypeError(unusedValue(cursor.info));
    } else if (cursor.isOpen) {
      throw new TypeError(NO_LENGTH);
    }
    return cursor;
  }

  /** @param {number} size @param {number} depth */
  #array(size, depth) {
    if (depth > MAX_DEPTH) throw new TypeError(`is nested deeper than ${MAX_DEPTH} levels`);
    const array = [];
    for (let i = 0; i < size; i++) array.push(this.value(depth));
    return array;
  }

  /** @param {number} size @param {number} depth */
  #object(size, depth) {
    if (depth > MAX_DEPTH) throw new TypeError(`is nested deeper than ${MAX_DEPTH} levels`);
    const object = {};
    for (let i = 0; i < size; i++) {
      const key = this.value(MAX_DEPTH);
      if (typeof key !== 'string') throw new TypeError('has a key that is not text');
      setMember(object, key, this.value(depth));
    }
    return object;
  }

  /** @param {number | bigint} tag @returns {number} */
  #fraction(tag) {
    if (tag !== DECIMAL_FRACTION)
      throw new TypeError(`has the CBOR tag ${tag}, which the format does not use`);
    // It is one value of the payload, and was counted.
    this.#cursor.items += 3;
    if (this.arraySize() !== 2) throw new TypeError('has a decimal fraction without two parts');
    const exponent = this.#integer();
    const digits = this.#integer();
    // The parser of numbers rounds once. The product of two numbers would round twice.
    return Number(`${digits}e${exponent}`);
  }

  /** @returns {number | bigint} */
  #integer() {
    const { major, argument } = this.#head();
    if (major === MAJOR.UINT) return argument;
    if (major === MAJOR.NEGATIVE) return -1n - BigInt(argument);
    throw new TypeError('has a decimal fraction without two integers');
  }
}

/** @param {CborCursor} cursor behind the head of a simple value that is used @returns {number | boolean | null} */
function simpleOf(cursor) {
  const { info } = cursor;
  if (info === FALSE || info === TRUE) return info === TRUE;
  return info === NULL ? null : cursor.float();
}

/** @param {Fault} fault @param {CborCursor} cursor @param {number} maxItems */
function sentenceOf(fault, { major, info }, maxItems) {
  switch (fault) {
    case 'ends':
      return 'ends within a CBOR item';
    case 'utf8':
      return 'has text that is not UTF-8';
    case 'items':
      return `has more than ${maxItems} CBOR items`;
    default:
      return major === MAJOR.SIMPLE ? unusedValue(info) : NO_LENGTH;
  }
}

/** @param {number} info */
const unusedValue = (info) => `has the CBOR simple value ${info}, which the format does not use`;

/**
 * Sets a member as JSON.parse() does: __proto__ is a name like any other.
 * @param {Record<string, unknown>} object
 * @param {string} name
 * @param {unknown} value
 */
function setMember(object, name, value) {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

exports.CborReader = CborReader;
exports.setMember = setMember;
