'use strict';
// Passes over the heads and strings of CBOR (RFC 8949 section 3), which are network input. The readers and the check of
// bounds share it; each has its own sentences for what is wrong.

const { isUtf8 } = require('node:buffer');
const { halfOf } = require('./half');

const MAJOR = Object.freeze({
  UINT: 0,
  NEGATIVE: 1,
  BYTES: 2,
  TEXT: 3,
  ARRAY: 4,
  MAP: 5,
  TAG: 6,
  SIMPLE: 7
});
/** The additional information of an item without a length, and of the break that ends it. */
const OPEN = 31;
const BREAK = 0xff;
const [HALF, SINGLE] = [25, 26];

/**
 * What a cursor finds wrong. ends: the bytes end within an item; malformed: no item begins like this; utf8: a text is
 * not UTF-8; items: there are more items than the limit.
 * @typedef {'ends' | 'malformed' | 'utf8' | 'items'} Fault
 */

/** What is wrong with CBOR; the message follows "The body ". */
class CborError extends Error {}

/** @type {Record<Fault, string>} */
const SENTENCES = {
  ends: 'ends early',
  malformed: 'is not well-formed',
  utf8: 'has text that is not UTF-8',
  items: 'has too many items'
};

/** @param {Fault} fault @returns {Error} */
const cborError = (fault) => new CborError(SENTENCES[fault]);

class Cursor {
  /** Offset of the next byte. */
  at = 0;
  /** Of the last head. Fields, because an object for each item would take most of the time. */
  major = 0;
  info = 0;
  /** A number up to 2^53 - 1, a bigint beyond; 0 if the length is open or the item is a float. @type {number | bigint} */
  argument = 0;
  /** Items that may follow. */
  items;
  #bytes;
  #errorOf;

  /**
   * @param {Uint8Array} bytes
   * @param {number} items at most
   * @param {(fault: Fault, cursor: Cursor) => Error} [errorOf]
   */
  constructor(bytes, items, errorOf = cborError) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.items = items;
    this.#errorOf = errorOf;
  }

  /** Bytes that follow. */
  get left() {
    return this.#bytes.length - this.at;
  }

  /** The major type of the next item, -1 at the end. */
  get nextMajor() {
    return this.left > 0 ? this.#bytes[this.at] >> 5 : -1;
  }

  /** True if the last head has no length: a break ends the item. */
  get isOpen() {
    return this.info === OPEN;
  }

  /** Passes the head of an item, and the value of a float. Counts the item. */
  head() {
    if (--this.items < 0) throw this.#errorOf('items', this);
    if (this.left < 1) throw this.#errorOf('ends', this);
    const first = this.#bytes[this.at++];
    this.major = first >> 5;
    this.info = first & 31;
    if (this.info < 24) this.argument = this.info;
    else if (this.info < 28) this.#long(1 << (this.info - 24));
    else this.#open();
  }

  /** @param {number} size bytes of the argument */
  #long(size) {
    this.#skip(size);
    const at = this.at - size;
    const isFloat = this.major === MAJOR.SIMPLE && size > 1;
    if (isFloat) this.argument = 0;
    else if (size < 8) this.argument = this.#bytes.readUIntBE(at, size);
    else this.argument = this.#wide(at);
    // [RFC 8949 3.3] Simple values below 32 have one byte.
    if (this.major === MAJOR.SIMPLE && size === 1 && this.argument < 32)
      throw this.#errorOf('malformed', this);
  }

  /** @param {number} at @returns {number | bigint} */
  #wide(at) {
    const high = this.#bytes.readUInt32BE(at);
    if (high >= 2 ** 21) return this.#bytes.readBigUInt64BE(at);
    return high * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
  }

  #open() {
    const { major } = this;
    // [RFC 8949 3.2.3] Integers and tags have no open form.
    const hasOpen = major !== MAJOR.UINT && major !== MAJOR.NEGATIVE && major !== MAJOR.TAG;
    if (this.info !== OPEN || !hasOpen) throw this.#errorOf('malformed', this);
    this.argument = 0;
  }

  /** Returns the float whose head was passed: its info is 25, 26 or 27. @returns {number} */
  float() {
    if (this.info === HALF) return halfOf(this.#bytes.readUInt16BE(this.at - 2));
    return this.info === SINGLE
      ? this.#bytes.readFloatBE(this.at - 4)
      : this.#bytes.readDoubleBE(this.at - 8);
  }

  /**
   * Returns the bytes of the string whose head was passed, the pieces of an open one joined. Each piece is an item and
   * is checked as one.
   * @returns {Buffer} a view, unless it was joined
   */
  string() {
    const { major } = this;
    if (!this.isOpen) return this.#piece();
    const pieces = [];
    while (!this.atBreak()) {
      this.head();
      if (this.major !== major || this.isOpen) throw this.#errorOf('malformed', this);
      pieces.push(this.#piece());
    }
    return Buffer.concat(pieces);
  }

  /** Returns the text whose head was passed. @returns {string} */
  text() {
    if (this.isOpen) return this.string().toString();
    const start = this.at;
    this.#skip(this.argument);
    const text = this.#bytes.toString('utf8', start, this.at);
    // Only the replacement character can stand for bytes that are not UTF-8: most texts are passed over once.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, this.at)))
      throw this.#errorOf('utf8', this);
    return text;
  }

  /** @returns {Buffer} */
  #piece() {
    const start = this.at;
    this.#skip(this.argument);
    const piece = this.#bytes.subarray(start, this.at);
    if (this.major === MAJOR.TEXT && !isUtf8(piece)) throw this.#errorOf('utf8', this);
    return piece;
  }

  /**
   * Returns the elements of the array, or the members of the map, whose head was passed.
   * @returns {number} at most as many as the bytes that follow can have; Infinity: open
   */
  count() {
    if (this.isOpen) return Infinity;
    const least = this.major === MAJOR.MAP ? 2 : 1;
    const count = Number(this.argument);
    if (count * least > this.left) throw this.#errorOf('ends', this);
    return count;
  }

  /** True if the next byte ends an open item; passes it. */
  atBreak() {
    if (this.left < 1) throw this.#errorOf('ends', this);
    if (this.#bytes[this.at] !== BREAK) return false;
    this.at++;
    return true;
  }

  /** @param {number | bigint} size */
  #skip(size) {
    if (size > this.left) throw this.#errorOf('ends', this);
    this.at += Number(size);
  }
}

exports.Cursor = Cursor;
exports.CborError = CborError;
exports.MAJOR = MAJOR;
