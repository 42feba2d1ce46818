'use strict';

const [UNSIGNED, TEXT, ARRAY, MAP] = [0, 3, 4, 5];
const MOST_HEAD_BYTES = 5;

/** Writes CBOR into one buffer: a large answer from many small buffers would be garbage that delays other answers. */
class CborBlock {
  #buffer;
  #at = 0;

  /** Returns a text on its own, encoded. @param {string} value @returns {Uint8Array} */
  static text(value) {
    const block = new CborBlock(MOST_HEAD_BYTES + Buffer.byteLength(value));
    block.text(value);
    return block.take();
  }

  /** @param {number} most bytes that will be written */
  constructor(most) {
    this.#buffer = Buffer.allocUnsafe(most);
  }

  /** @param {number} count of the items that follow */
  array(count) {
    this.#head(ARRAY, count);
  }

  /** @param {number} count of the pairs that follow */
  map(count) {
    this.#head(MAP, count);
  }

  /** @param {number} value whole, 0 to 2^32 - 1 */
  number(value) {
    this.#head(UNSIGNED, value);
  }

  /** @param {string} value */
  text(value) {
    this.#head(TEXT, Buffer.byteLength(value));
    this.#at += this.#buffer.write(value, this.#at);
  }

  /** @param {Uint8Array} encoded */
  bytes(encoded) {
    this.#buffer.set(encoded, this.#at);
    this.#at += encoded.length;
  }

  /**
   * Returns what was written, in memory of its own: a message to another thread copies the whole memory of a part.
   * @returns {Uint8Array}
   */
  take() {
    return new Uint8Array(this.#buffer.subarray(0, this.#at));
  }

  /** @param {number} major @param {number} count below 2^32 */
  #head(major, count) {
    const buffer = this.#buffer;
    const type = major << 5;
    if (count < 24) {
      buffer[this.#at++] = type | count;
    } else if (count < 256) {
      buffer[this.#at++] = type | 24;
      buffer[this.#at++] = count;
    } else if (count < 65536) {
      buffer[this.#at++] = type | 25;
      this.#at = buffer.writeUInt16BE(count, this.#at);
    } else {
      buffer[this.#at++] = type | 26;
      this.#at = buffer.writeUInt32BE(count, this.#at);
    }
  }
}

exports.CborBlock = CborBlock;
