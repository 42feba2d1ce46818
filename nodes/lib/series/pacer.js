'use strict';

const { setImmediate: turn } = require('node:timers/promises');

/** Longest work between two commits of records. */
const SLICE_MS = 20;

/**
 * Cuts the work of all answers of a thread into slices, so that records are stored in between. The answers share each
 * slice: with one for each, eight of them would take eight times as long between two commits.
 */
class Pacer {
  #sliceEnd = 0;
  /** @type {Promise<void> | null} */
  #turn = null;

  /** Call it after each small piece of work. @returns {Promise<void> | undefined} what to await; undefined: go on */
  pause() {
    if (performance.now() < this.#sliceEnd) return undefined;
    this.#turn ??= turn().then(() => {
      this.#sliceEnd = performance.now() + SLICE_MS;
      this.#turn = null;
    });
    return this.#turn;
  }
}

exports.Pacer = Pacer;
