'use strict';
// Decodes one CBOR item.

const { LIMITS, WRONG_BREAK, sizeProblemOf, tooDeep } = require('./bounds');
const { CborError, Cursor, MAJOR } = require('./cursor');
const { Simple, Tagged } = require('./values');

/** [RFC 8949 3.4.3] */
const [BIGNUM, NEGATIVE_BIGNUM] = [2, 3];
/** Converting one to decimals takes time that grows with the square of its length. */
const MOST_BIGNUM_BYTES = 1024;
const CONSTANTS = new Map([
  [20, false],
  [21, true],
  [22, null],
  [23, undefined]
]);
const FIRST_FLOAT = 25;

/**
 * Decodes one item, of definite or indefinite lengths.
 *
 * - A whole number is a number if it is a safe integer, otherwise a bigint, as are bignums (tags 2 and 3, at most 1024
 *   bytes). A float is a number. Other tags are Tagged, other simple values Simple.
 * - A byte string is a Buffer with a copy.
 * - A map is an object if all keys are text and none is `__proto__`, otherwise a Map. A key that is there twice is
 *   refused, unless it is a byte string, an array or a map.
 *
 * @param {Uint8Array} bytes
 * @param {import('./bounds').Limits} [limits] 64 MiB, 64 levels and 2^24 items by default
 * @returns {any}
 * @throws {CborError} if it is not one valid item within the limits
 */
function decode(bytes, limits = LIMITS) {
  const problem = sizeProblemOf(bytes, limits);
  if (problem) throw new CborError(problem);
  const cursor = new Cursor(bytes, limits.items);
  const value = new Reader(cursor, limits.depth).item(0);
  if (cursor.left > 0) throw new CborError('has bytes after its end');
  return value;
}

class Reader {
  #cursor;
  #most;

  /** @param {Cursor} cursor @param {number} most levels */
  constructor(cursor, most) {
    this.#cursor = cursor;
    this.#most = most;
  }

  /** @param {number} depth of arrays, maps and tags around it @returns {unknown} */
  item(depth) {
    const cursor = this.#cursor;
    cursor.head();
    switch (cursor.major) {
      case MAJOR.UINT:
        return cursor.argument;
      case MAJOR.NEGATIVE:
        return negative(cursor.argument);
      case MAJOR.BYTES:
        return Buffer.from(cursor.string());
      case MAJOR.TEXT:
        return cursor.text();
      case MAJOR.SIMPLE:
        return simpleOf(cursor);
      default:
        if (depth >= this.#most) throw tooDeep(this.#most);
        if (cursor.major === MAJOR.TAG) return this.#tagged(depth + 1);
        return cursor.major === MAJOR.ARRAY ? this.#array(depth + 1) : this.#map(depth + 1);
    }
  }

  /** @param {number} depth */
  #array(depth) {
    const cursor = this.#cursor;
    const { isOpen } = cursor;
    const size = cursor.count();
    const array = [];
    for (let i = 0; i < size && !(isOpen && cursor.atBreak()); i++) array.push(this.item(depth));
    return array;
  }

  /** @param {number} depth @returns {Record<string, unknown> | Map<unknown, unknown>} */
  #map(depth) {
    const cursor = this.#cursor;
    const { isOpen } = cursor;
    const size = cursor.count();
    /** @type {Record<string, unknown>} */
    const object = {};
    /** @type {Map<unknown, unknown> | undefined} */
    let map;
    for (let i = 0; i < size && !(isOpen && cursor.atBreak()); i++) {
      const key = this.item(depth);
      if (!map && (typeof key !== 'string' || key === '__proto__')) map = new Map(Object.entries(object));
      const isTwice = map ? map.has(key) : Object.hasOwn(object, /** @type {string} */ (key));
      if (isTwice) throw new CborError('has a map key twice');
      const value = this.item(depth);
      if (map) map.set(key, value);
      else object[/** @type {string} */ (key)] = value;
    }
    return map ?? object;
  }

  /** @param {number} depth */
  #tagged(depth) {
    const tag = this.#cursor.argument;
    const value = this.item(depth);
    if (tag !== BIGNUM && tag !== NEGATIVE_BIGNUM) return new Tagged(tag, value);
    if (!Buffer.isBuffer(value)) throw new CborError('has a bignum that is not a byte string');
    if (value.length > MOST_BIGNUM_BYTES)
      throw new CborError(`has a bignum of more than ${MOST_BIGNUM_BYTES} bytes`);
    const whole = BigInt(`0x0${value.toString('hex')}`);
    return tag === BIGNUM ? whole : -1n - whole;
  }
}

/** @param {number | bigint} argument @returns {number | bigint} a number if it is a safe integer */
function negative(argument) {
  return argument < Number.MAX_SAFE_INTEGER ? -1 - Number(argument) : -1n - BigInt(argument);
}

/** @param {Cursor} cursor behind a head of major type 7 */
function simpleOf(cursor) {
  if (cursor.isOpen) throw new CborError(WRONG_BREAK);
  if (cursor.info >= FIRST_FLOAT) return cursor.float();
  const value = Number(cursor.argument);
  return CONSTANTS.has(value) ? CONSTANTS.get(value) : new Simple(value);
}

module.exports = { decode };
