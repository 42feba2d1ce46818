'use strict';

/** @type {Map<any, any>} */
const NONE = new Map();

/**
 * A map that is usually empty. It takes memory only while it has entries; an empty Map takes more than 200 bytes.
 * @template K, V
 */
class SmallMap {
  /** @type {Map<K, V> | null} */
  #entries = null;

  /** @param {K} key @returns {V | undefined} */
  get(key) {
    return this.#entries?.get(key);
  }

  /** @param {K} key @param {V} value */
  set(key, value) {
    this.#entries ??= new Map();
    this.#entries.set(key, value);
  }

  /** @param {K} key */
  delete(key) {
    this.#entries?.delete(key);
    if (this.#entries?.size === 0) this.#entries = null;
  }

  clear() {
    this.#entries = null;
  }

  /** @returns {MapIterator<K>} */
  keys() {
    return (this.#entries ?? NONE).keys();
  }

  /** @returns {MapIterator<V>} */
  values() {
    return (this.#entries ?? NONE).values();
  }

  get size() {
    return this.#entries?.size ?? 0;
  }
}

exports.SmallMap = SmallMap;
