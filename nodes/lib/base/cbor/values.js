'use strict';
// Values of CBOR that JavaScript does not have.

/** A tagged value. */
class Tagged {
  /** @param {number | bigint} tag 0 to 2^64 - 1 @param {unknown} value */
  constructor(tag, value) {
    this.tag = tag;
    this.value = value;
  }
}

/** A simple value other than false, true, null and undefined. */
class Simple {
  /** @param {number} value 0 to 19, or 32 to 255 */
  constructor(value) {
    this.value = value;
  }
}

module.exports = { Tagged, Simple };
