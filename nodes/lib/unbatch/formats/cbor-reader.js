'use strict';
// Reads the CBOR (RFC 8949) that the gateway's encoders write: items with a length, no tags but decimal fractions. The
// bytes are network input.

const { MAX_DEPTH, MAX_ITEMS } = require('./json-reader');

/** [RFC 8949 3.1] */
const [UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE] = [0, 1, 2, 3, 4, 5, 6, 7];
const DECIMAL_FRACTION = 4;
const FALSE = 20;
const TRUE = 21;
const NULL = 22;
const HALF = 25;
const SINGLE = 26;
const DOUBLE = 27;

const CUT_OFF = 'ends within a CBOR item';

class CborReader {
  #bytes;
  #maxItems;
  #at = 0;
  #items = 0;
  /** Of the last head. Fields, because an object for each item would take most of the time. */
  #major = 0;
  /** A number, or a bigint from 2^32 on; of major type 7 the value. @type {any} */
  #argument = 0;
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** @param {Buffer} bytes @param {number} [maxItems] */
  constructor(bytes, maxItems = MAX_ITEMS) {
    this.#bytes = bytes;
    this.#maxItems = maxItems;
  }

  /** @returns {boolean} */
  get atEnd() {
    return this.#at === this.#bytes.length;
  }

  /**
   * Reads one item. This and all other methods throw a TypeError that ends the sentence "Record 2 of the envelope …".
   * @param {number} [depth] of the arrays and maps around it
   * @returns {unknown} a map as an object; an integer beyond 2^53 as the nearest number
   */
  value(depth = 0) {
    this.#head();
    const argument = this.#argument;
    switch (this.#major) {
      case UNSIGNED:
        return Number(argument);
      case NEGATIVE:
        return typeof argument === 'number' ? -1 - argument : Number(-1n - argument);
      case BYTES:
        return Buffer.from(this.#take(Number(argument)));
      case TEXT:
        return this.#text(argument);
      case ARRAY:
        return this.#array(this.#sizeOf(argument, 1), depth + 1);
      case MAP:
        return this.#object(this.#sizeOf(argument, 2), depth + 1);
      case TAG:
        return this.#fraction(argument);
      default:
        return argument;
    }
  }

  /** Reads the head of a map. @returns {number} its members */
  mapSize() {
    this.#head();
    if (this.#major !== MAP) throw new TypeError('is not a CBOR map');
    return this.#sizeOf(this.#argument, 2);
  }

  /** Reads the head of an array. @returns {number} its elements */
  arraySize() {
    this.#head();
    if (this.#major !== ARRAY) throw new TypeError('is not a CBOR array');
    return this.#sizeOf(this.#argument, 1);
  }

  /** @returns {number | string} an integer or text */
  key() {
    const key = this.value(MAX_DEPTH);
    if (typeof key === 'string' || Number.isSafeInteger(key)) return /** @type {number | string} */ (key);
    throw new TypeError('has a key that is neither an integer nor text');
  }

  #head() {
    if (++this.#items > this.#maxItems) throw new TypeError(`has more than ${this.#maxItems} CBOR items`);
    if (this.#at === this.#bytes.length) throw new TypeError(CUT_OFF);
    const first = this.#bytes[this.#at++];
    const info = first & 31;
    this.#major = first >> 5;
    if (this.#major === SIMPLE) this.#argument = this.#simple(info);
    else if (info < 24) this.#argument = info;
    else this.#argument = this.#long(2 ** (info - 24));
  }

  /** @param {number} size bytes of the argument @returns {number | bigint} */
  #long(size) {
    if (size > 8) throw new TypeError('has a CBOR item without a length, which the format does not use');
    const bytes = this.#take(size);
    return size === 8 ? bytes.readBigUInt64BE() : bytes.readUIntBE(0, size);
  }

  /** @param {number} info */
  #simple(info) {
    switch (info) {
      case FALSE:
        return false;
      case TRUE:
        return true;
      case NULL:
        return null;
      case HALF:
        return halfOf(this.#take(2).readUInt16BE());
      case SINGLE:
        return this.#take(4).readFloatBE();
      case DOUBLE:
        return this.#take(8).readDoubleBE();
      default:
        throw new TypeError(`has the CBOR simple value ${info}, which the format does not use`);
    }
  }

  /** @param {number} size @returns {Buffer} */
  #take(size) {
    const end = this.#at + size;
    if (end > this.#bytes.length) throw new TypeError(CUT_OFF);
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** @param {number | bigint} argument @param {number} least bytes of an element @returns {number} */
  #sizeOf(argument, least) {
    const size = Number(argument);
    if (size * least > this.#bytes.length - this.#at) throw new TypeError(CUT_OFF);
    return size;
  }

  /** @param {number | bigint} argument */
  #text(argument) {
    const bytes = this.#take(Number(argument));
    try {
      return this.#decoder.decode(bytes);
    } catch {
      throw new TypeError('has text that is not UTF-8');
    }
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
    if (Number(tag) !== DECIMAL_FRACTION)
      throw new TypeError(`has the CBOR tag ${tag}, which the format does not use`);
    // It is one value of the payload, and was counted.
    this.#items -= 3;
    if (this.arraySize() !== 2) throw new TypeError('has a decimal fraction without two parts');
    const exponent = this.#integer();
    const digits = this.#integer();
    // The parser of numbers rounds once. The product of two numbers would round twice.
    return Number(`${digits}e${exponent}`);
  }

  /** @returns {number | bigint} */
  #integer() {
    this.#head();
    if (this.#major === UNSIGNED) return this.#argument;
    if (this.#major === NEGATIVE) return -1n - BigInt(this.#argument);
    throw new TypeError('has a decimal fraction without two integers');
  }
}

/** @param {number} bits of a float of 16 bits @returns {number} */
function halfOf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

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
