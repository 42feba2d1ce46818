'use strict';
// A value that others read for the operator's page: the newest one is there at once, and it is read again while someone
// looks.

/** After a reading, the next one waits for this many times as long as it took. */
const PAUSE = 10;
/** A little less than a second, so that a timer that is early does not skip a reading. */
const MIN_PAUSE_MS = 900;
const MAX_PAUSE_MS = 30000;

/**
 * @template T
 * @typedef {{ value: T | null, error: Error | null, ageMs: number }} Read value: of the last reading, null = none yet, or
 *   it failed; error: why it failed
 */

/** @template T */
class Reading {
  #read;
  #now;
  /** @type {T | null} */
  #value = null;
  /** @type {Error | null} */
  #error = null;
  #readAt = 0;
  #nextAt = -Infinity;
  #isReading = false;

  /**
   * @param {() => Promise<T>} read
   * @param {() => number} [now] ms
   */
  constructor(read, now = () => performance.now()) {
    this.#read = read;
    this.#now = now;
  }

  /** Returns the newest value, and begins to read again if it is time for that. @returns {Read<T>} */
  get() {
    const now = this.#now();
    if (!this.#isReading && now >= this.#nextAt) void this.refresh();
    return { value: this.#value, error: this.#error, ageMs: Math.max(0, Math.round(now - this.#readAt)) };
  }

  /** Reads again. Resolves when that has ended; never rejects. */
  async refresh() {
    this.#isReading = true;
    const began = this.#now();
    try {
      this.#value = await this.#read();
      this.#error = null;
    } catch (error) {
      this.#value = null;
      this.#error = /** @type {Error} */ (error);
    }
    this.#isReading = false;
    this.#readAt = this.#now();
    const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, PAUSE * (this.#readAt - began)));
    this.#nextAt = began + pauseMs;
  }
}

exports.Reading = Reading;
