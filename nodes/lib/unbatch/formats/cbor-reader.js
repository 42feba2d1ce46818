'use strict';
// Reads the CBOR (RFC 8949) that the gateway's encoders write: items with a length, no tags but decimal fractions. The
// bytes are network input.

/** Items of one envelope. More than JSON of 16 MiB can hold, so that what the gateway encodes can be read. */
const MAX_ITEMS = 8 * 1024 * 1024;
/** Arrays and maps in one another: those of a JSON payload. */
const MAX_DEPTH = 64;

const [UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG] = [0, 1, 2, 3, 4, 5, 6];
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
  #at = 0;
  #items = 0;
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
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
    const { major, argument } = this.#head();
    switch (major) {
      case UNSIGNED:
        return Number(argument);
      case NEGATIVE:
        return Number(-1n - BigInt(argument));
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
    const { major, argument } = this.#head();
    if (major !== MAP) throw new TypeError('is not a CBOR map');
    return this.#sizeOf(argument, 2);
  }

  /** Reads the head of an array. @returns {number} its elements */
  arraySize() {
    const { major, argument } = this.#head();
    if (major !== ARRAY) throw new TypeError('is not a CBOR array');
    return this.#sizeOf(argument, 1);
  }

  /** @returns {number | string} an integer or text */
  key() {
    const key = this.value(MAX_DEPTH);
    if (typeof key === 'string' || Number.isSafeInteger(key)) return /** @type {number | string} */ (key);
    throw new TypeError('has a key that is neither an integer nor text');
  }

  /**
   * @returns {{ major: number, argument: any }} argument: a number, or a bigint from 2^32 on; of major type 7 the value
   */
  #head() {
    if (++this.#items > MAX_ITEMS) throw new TypeError(`has more than ${MAX_ITEMS} CBOR items`);
    const first = this.#take(1)[0];
    const major = first >> 5;
    const info = first & 31;
    if (major === 7) return { major, argument: this.#simple(info) };
    if (info < 24) return { major, argument: info };
    const size = 2 ** (info - 24);
    if (size > 8) throw new TypeError('has a CBOR item without a length, which the format does not use');
    const bytes = this.#take(size);
    return { major, argument: size === 8 ? bytes.readBigUInt64BE() : bytes.readUIntBE(0, size) };
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
    if (this.arraySize() !== 2) throw new TypeError('has a decimal fraction without two parts');
    const exponent = this.#integer();
    const digits = this.#integer();
    // The parser of numbers rounds once. The product of two numbers would round twice.
    return Number(`${digits}e${exponent}`);
  }

  /** @returns {number | bigint} */
  #integer() {
    const { major, argument } = this.#head();
    if (major === UNSIGNED) return argument;
    if (major === NEGATIVE) return -1n - BigInt(argument);
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

module.exports = { CborReader, setMember, MAX_DEPTH, MAX_ITEMS };
