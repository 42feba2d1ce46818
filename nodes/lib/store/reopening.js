'use strict';

const path = require('node:path');
const { setAside } = require('./log-folder');

/** A connection that does not recover (a disk that returned as another device) is given up after this many tries. */
const TRIES_A_CONNECTION = 8;
/** A disk that damages each new file must not be filled with them. */
const ASIDE_MS = 60000;
/** Limits the exponent, not the wait. */
const MAX_DOUBLINGS = 20;

/** When a database that failed is tried again, and when its connection, or its file, is given up. */
class Reopening {
  #file;
  #now;
  #tries = 0;
  #asideAt = -Infinity;

  /** @param {string} file @param {() => number} [now] ms, monotonic */
  constructor(file, now = () => performance.now()) {
    this.#file = file;
    this.#now = now;
  }

  /**
   * A try failed.
   * @param {number} minMs
   * @param {number} maxMs
   * @returns {number} ms until the next one; it doubles
   */
  failed(minMs, maxMs) {
    return Math.min(maxMs, minMs * 2 ** Math.min(this.#tries++, MAX_DOUBLINGS));
  }

  /** The database works. */
  succeeded() {
    this.#tries = 0;
  }

  /** True if the next try must not use the present connection. */
  get isHopeless() {
    return this.#tries % TRIES_A_CONNECTION === 0;
  }

  /** Time in ms until a damaged file may be set aside, 0 = now. */
  get asideInMs() {
    return Math.max(0, this.#asideAt + ASIDE_MS - this.#now());
  }

  /**
   * Renames the damaged file, so that a new one can be created. Nothing is deleted. REQUIRES: it is closed.
   * @param {Date} date
   * @returns {string} its new name, absolute
   */
  setAside(date = new Date()) {
    this.#asideAt = this.#now();
    return setAside(path.dirname(this.#file), date, path.basename(this.#file));
  }
}

exports.Reopening = Reopening;
