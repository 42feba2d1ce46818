'use strict';

/** Places of the shared memory. */
const OPEN = 0;
const LAST = 1;

/**
 * Shares with other threads whether the owner of the file has it open. Each opening has a number of its own, so that a
 * connection of another thread does not outlive a failure of the owner's connection.
 */
class Gate {
  #places;

  /** @param {Int32Array} places of Gate.places() */
  constructor(places) {
    this.#places = places;
  }

  /** @returns {Int32Array} of shared memory; closed */
  static places() {
    return new Int32Array(new SharedArrayBuffer(8));
  }

  /** The number of this time that it is open; 0 = it is closed. */
  get number() {
    return Atomics.load(this.#places, OPEN);
  }

  open() {
    Atomics.store(this.#places, OPEN, Atomics.add(this.#places, LAST, 1) + 1);
  }

  close() {
    Atomics.store(this.#places, OPEN, 0);
  }
}

exports.Gate = Gate;
