'use strict';

const { OPTION, uintOption } = require('./coap');
const { Refusal } = require('./refusal');
const { SmallMap } = require('../../base/small-map');

/** @typedef {import('./coap').Request} Request */

const MOST_RELATIONS = 256;
/** RFC 7641 section 3.4: the number has 24 bits. */
const OBSERVE_MODULUS = 1 << 24;

/** The observations that a connection has, of any kind, by their tokens. */
class Relations {
  /** @type {SmallMap<string, () => void>} */
  #ends = new SmallMap();

  /**
   * Adds an observation; one with the same token ends. REQUIRES: isFull() is false.
   * @param {Buffer} token
   * @param {() => void} end what to do when the client or the connection ends it
   * @returns {() => void} removes it without calling `end`: the other side ended it
   */
  add(token, end) {
    const key = token.toString('latin1');
    this.end(token);
    this.#ends.set(key, end);
    return () => {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    };
  }

  /** Ends an observation, if there is one. @param {Buffer} token */
  end(token) {
    const key = token.toString('latin1');
    const end = this.#ends.get(key);
    this.#ends.delete(key);
    end?.();
  }

  endAll() {
    const ends = [...this.#ends.values()];
    this.#ends.clear();
    for (const end of ends) end();
  }

  /** @throws {Refusal} 5.03 if there is no room for the request's observation */
  check() {
    if (this.#ends.size < MOST_RELATIONS) return;
    throw new Refusal('5.03', `The connection has ${MOST_RELATIONS} observations already.`, 60);
  }

  get size() {
    return this.#ends.size;
  }
}

/** @param {Request} request @returns {'start' | 'end' | ''} what a GET wants to do with an observation */
function observeWish(request) {
  if (request.method !== 'GET') return '';
  const value = uintOption(request, OPTION.OBSERVE);
  return value === 0 ? 'start' : value === 1 ? 'end' : '';
}

/** Numbers of notifications, increasing. @returns {() => number} */
function observeNumbers() {
  let last = 1;
  return () => (last = (last + 1) % OBSERVE_MODULUS);
}

module.exports = { Relations, observeWish, observeNumbers, MOST_RELATIONS };
