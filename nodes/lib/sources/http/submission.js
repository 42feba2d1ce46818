'use strict';
// The records of one request until they are safe. With an Idempotency-Key, a repeated request continues the same
// submission: records that are in the engine are not added again.

const NEW = 0;
const PENDING = 1;
const SAFE = 2;
const FAILED = 3;

class Submission {
  #states;
  /** @type {Set<() => void>} */
  #waiters;
  #onRest;
  /** Requests that use it. */
  #requests = 0;

  /**
   * @param {number} total records
   * @param {() => void} [onRest] called when no request uses it and no record is pending; it may be used again later
   */
  constructor(total, onRest = () => {}) {
    this.total = total;
    this.#onRest = onRest;
    this.#states = new Uint8Array(total);
    this.pending = 0;
    this.safe = 0;
    /** Of the latest failure. @type {(Error & { code?: string }) | null} */
    this.error = null;
    this.#waiters = new Set();
  }

  /** @param {number} total records, which are all safe */
  static done(total) {
    const submission = new Submission(0);
    submission.total = submission.safe = total;
    return submission;
  }

  /** A request uses it until leave(). @returns {this} */
  enter() {
    this.#requests++;
    return this;
  }

  /** REQUIRES: enter() was called for this request. */
  leave() {
    this.#requests--;
    this.#checkRest();
  }

  #checkRest() {
    if (this.#requests === 0 && this.pending === 0) this.#onRest();
  }

  get isDone() {
    return this.safe === this.total;
  }

  /** @returns {number[]} records to put into the engine, in order */
  get open() {
    return [...this.#states.keys()].filter((index) => [NEW, FAILED].includes(this.#states[index]));
  }

  /** @returns {number} the first record that is not safe */
  get firstOpen() {
    return this.#states.findIndex((state) => state !== SAFE);
  }

  /**
   * @param {import('../../base/record').RecordArgs[]} records
   * @param {(args: import('../../base/record').RecordArgs, done: import('../../engine/inbox').Done) => void} put
   * @param {() => boolean} hasRoom false = stop before the next record
   */
  run(records, put, hasRoom) {
    this.error = null;
    for (const index of this.open) {
      if (!hasRoom()) break;
      this.#states[index] = PENDING;
      this.pending++;
      put(records[index], (error) => this.#settle(index, error));
    }
  }

  /** @param {number} index @param {Error} [error] */
  #settle(index, error) {
    this.#states[index] = error ? FAILED : SAFE;
    this.pending--;
    if (error) this.error ??= error;
    else this.safe++;
    if (this.pending > 0) return;
    for (const resolve of this.#waiters) resolve();
    this.#checkRest();
  }

  /**
   * @param {number} timeoutMs
   * @returns {Promise<void>} resolves when no record is pending, or after the timeout
   */
  async settled(timeoutMs) {
    if (this.pending === 0) return;
    await new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiters.delete(end);
        resolve(undefined);
      };
      const timer = setTimeout(end, timeoutMs);
      this.#waiters.add(end);
    });
  }
}

exports.Submission = Submission;
