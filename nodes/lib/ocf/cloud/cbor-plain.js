'use strict';
// Encodes and decodes plain values as CBOR (RFC 8949): what most bodies consist of. The package cbor makes a stream for
// each body, which takes at least 25 µs and 10 KB of memory; it gets the bodies for which this file returns null.

const { head } = require('./cbor-pieces');

const [UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP] = [0, 1, 2, 3, 4, 5];
const [FALSE, TRUE, NULL] = [0xf4, 0xf5, 0xf6].map((byte) => Buffer.from([byte]));
const MOST_DEPTH = 16;
/** Integers of larger size have heads of 8 bytes. */
const MOST_INTEGER = 2 ** 32 - 1;

/**
 * Encodes a value of plain objects, arrays, texts, Buffers, integers below 2^32, booleans and null.
 * @param {unknown} value
 * @returns {Buffer | null} null: it has something else
 */
function encodePlain(value) {
  /** @type {Uint8Array[]} */
  const parts = [];
  return add(value, parts, 0) ? Buffer.concat(parts) : null;
}

/** @param {unknown} value @param {Uint8Array[]} parts @param {number} depth @returns {boolean} false: not plain */
function add(value, parts, depth) {
  switch (typeof value) {
    case 'string':
      return addBytes(TEXT, Buffer.from(value), parts);
    case 'number':
      return addInteger(value, parts);
    case 'boolean':
      return parts.push(value ? TRUE : FALSE) > 0;
    case 'object':
      if (value === null) return parts.push(NULL) > 0;
      if (Buffer.isBuffer(value)) return addBytes(BYTES, value, parts);
      return depth < MOST_DEPTH && addItems(value, parts, depth + 1);
    default:
      return false;
  }
}

/** @param {number} major @param {Buffer} bytes @param {Uint8Array[]} parts */
function addBytes(major, bytes, parts) {
  return parts.push(head(major, bytes.length), bytes) > 0;
}

/** @param {number} value @param {Uint8Array[]} parts */
function addInteger(value, parts) {
  if (!Number.isInteger(value) || Math.abs(value) > MOST_INTEGER || Object.is(value, -0)) return false;
  return parts.push(value < 0 ? head(NEGATIVE, -1 - value) : head(UNSIGNED, value)) > 0;
}

/** @param {object} value @param {Uint8Array[]} parts @param {number} depth @returns {boolean} */
function addItems(value, parts, depth) {
  if (Array.isArray(value)) {
    parts.push(head(ARRAY, value.length));
    // Not every(), which leaves out the holes of an array.
    for (const each of value) if (!add(each, parts, depth)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const entries = Object.entries(value);
  parts.push(head(MAP, entries.length));
  for (const [name, each] of entries) {
    addBytes(TEXT, Buffer.from(name), parts);
    if (!add(each, parts, depth)) return false;
  }
  return true;
}

/** Ends decodePlain(): the body is for the package. */
class NotPlain extends Error {}

/**
 * Decodes a body of maps with text keys, lists, texts, byte strings, integers below 2^32, booleans and null, all with
 * definite lengths.
 * @param {Buffer} bytes
 * @returns {{ value: unknown } | null} null: it has something else, or is not well-formed
 */
function decodePlain(bytes) {
  try {
    const reader = new Reader(bytes);
    const value = reader.item(0);
    return reader.at === bytes.length ? { value } : null;
  } catch (error) {
    if (error instanceof NotPlain) return null;
    throw error;
  }
}

class Reader {
  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** @param {number} depth @returns {unknown} */
  item(depth) {
    if (this.at >= this.bytes.length || depth > MOST_DEPTH) throw notPlain;
    const first = this.bytes[this.at++];
    const major = first >> 5;
    if (major > MAP) return simple(first);
    const count = this.#count(first & 31);
    if (major === UNSIGNED) return count;
    if (major === NEGATIVE) return -1 - count;
    // Each item has a byte or more.
    if (count > this.bytes.length - this.at) throw notPlain;
    if (major === BYTES) return Buffer.from(this.#take(count));
    if (major === TEXT) return this.#text(count);
    return major === ARRAY ? this.#list(count, depth + 1) : this.#map(count, depth + 1);
  }

  /** @param {number} info */
  #count(info) {
    if (info < 24) return info;
    if (info > 26) throw notPlain;
    const size = 1 << (info - 24);
    if (this.at + size > this.bytes.length) throw notPlain;
    this.at += size;
    return this.bytes.readUIntBE(this.at - size, size);
  }

  /** @param {number} count */
  #take(count) {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  /** @param {number} count */
  #text(count) {
    const text = this.#take(count).toString();
    // The replacement character may stand for bytes that are not UTF-8.
    if (text.includes('\ufffd')) throw notPlain;
    return text;
  }

  /** @param {number} count @param {number} depth */
  #list(count, depth) {
    const list = [];
    for (let i = 0; i < count; i++) list.push(this.item(depth));
    return list;
  }

  /** @param {number} count @param {number} depth */
  #map(count, depth) {
    /** @type {Record<string, unknown>} */
    const map = {};
    for (let i = 0; i < count; i++) {
      const key = this.item(depth);
      // The package reports keys that are there twice.
      if (typeof key !== 'string' || key === '__proto__' || Object.hasOwn(map, key)) throw notPlain;
      map[key] = this.item(depth);
    }
    return map;
  }
}

const notPlain = new NotPlain();

/** @param {number} first byte of a simple value */
function simple(first) {
  if (first === 0xf4 || first === 0xf5) return first === 0xf5;
  if (first === 0xf6) return null;
  throw notPlain;
}

module.exports = { encodePlain, decodePlain };
