'use strict';
// Checks the shape of CBOR (RFC 8949) before a decoder allocates anything for it. A few bytes can claim an array of
// 2^64 items or a nesting of thousands of levels.

const { isUtf8 } = require('node:buffer');

const LIMITS = { bytes: 65536, depth: 16, items: 8192 };

const [UINT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG] = [0, 1, 2, 3, 4, 5, 6];
const BREAK = 0xff;

/**
 * Returns what is wrong with the bytes, '' if they are one well-formed item within the limits. Map keys are text, as
 * in all OCF bodies, and there are no tags.
 * @param {Uint8Array} bytes
 * @param {{ bytes: number, depth: number, items: number }} [limits]
 */
function problemOf(bytes, limits = LIMITS) {
  if (bytes.length === 0) return 'is empty';
  if (bytes.length > limits.bytes) return `has more than ${limits.bytes} bytes`;
  try {
    const walk = new Walk(bytes, limits);
    walk.item(0);
    return walk.at === bytes.length ? '' : 'has bytes after its end';
  } catch (error) {
    if (error instanceof Malformed) return error.message;
    throw error;
  }
}

class Malformed extends Error {}

class Walk {
  /** @param {Uint8Array} bytes @param {{ depth: number, items: number }} limits */
  constructor(bytes, { depth, items }) {
    this.bytes = bytes;
    this.depth = depth;
    this.items = items;
    this.at = 0;
  }

  /** Passes one item. @param {number} depth of the maps and arrays around it */
  item(depth) {
    if (--this.items < 0) throw new Malformed('has too many items');
    const { major, info, count } = this.#head();
    const isOpen = info === 31;
    if (major === BYTES || major === TEXT) return isOpen ? this.#chunks(major) : this.#string(major, count);
    if (major === TAG) throw new Malformed('has a tag');
    if (major !== ARRAY && major !== MAP) {
      if (isOpen) throw new Malformed('has a break or an open number in a wrong place');
      return undefined;
    }
    if (depth >= this.depth) throw new Malformed(`is nested deeper than ${this.depth} levels`);
    for (let i = 0; isOpen ? !this.#atBreak() : i < count; i++) {
      if (major === MAP) this.#key();
      this.item(depth + 1);
    }
    return undefined;
  }

  /**
   * Passes the head of an item.
   * @returns {{ major: number, info: number, count: number }} count: exact below 2^53, which is enough to refuse it
   */
  #head() {
    const first = this.#byte();
    const [major, info] = [first >> 5, first & 31];
    if (info < 24) return { major, info, count: info };
    if (info === 31 && major !== UINT && major !== NEGATIVE && major !== TAG)
      return { major, info, count: 0 };
    if (info > 27) throw new Malformed('is not well-formed');
    let count = 0;
    for (let n = 1 << (info - 24); n > 0; n--) count = count * 256 + this.#byte();
    // RFC 8949 section 3.3: simple values below 32 have one byte.
    if (major === 7 && info === 24 && count < 32) throw new Malformed('is not well-formed');
    return { major, info, count };
  }

  #key() {
    if (this.at < this.bytes.length && this.bytes[this.at] >> 5 !== TEXT) {
      throw new Malformed('has a map key that is not text');
    }
    // A key is an item of its own: a map of a million empty keys must not pass.
    this.item(0);
  }

  /** @param {number} major @param {number} length */
  #string(major, length) {
    const end = this.at + length;
    if (end > this.bytes.length) throw new Malformed('ends early');
    if (major === TEXT && !isUtf8(this.bytes.subarray(this.at, end))) {
      throw new Malformed('has text that is not UTF-8');
    }
    this.at = end;
  }

  /** Passes the pieces of a string without a length. @param {number} major */
  #chunks(major) {
    while (!this.#atBreak()) {
      if (--this.items < 0) throw new Malformed('has too many items');
      const { major: own, info, count } = this.#head();
      if (own !== major || info === 31) throw new Malformed('is not well-formed');
      this.#string(major, count);
    }
  }

  /** True if the next byte ends an open item; passes it. */
  #atBreak() {
    if (this.at >= this.bytes.length) throw new Malformed('ends early');
    if (this.bytes[this.at] !== BREAK) return false;
    this.at++;
    return true;
  }

  #byte() {
    if (this.at >= this.bytes.length) throw new Malformed('ends early');
    return this.bytes[this.at++];
  }
}

module.exports = { LIMITS, problemOf };
