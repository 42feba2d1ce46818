'use strict';
// The records of one request until they are safe. With an Idempotency-Key, a repeated request continues the same
// submission: records that are in the engine are not added again.

const NEW = 0;
const PENDING = 1;
const SAFE = 2;
const FAILED = 3;

class Submission {
  /** @param {number} total records */
  constructor(total) {
    this.total = total;
    this.states_ = new Uint8Array(total);
    this.pending = 0;
    this.safe = 0;
    /** Of the latest failure. @type {(Error & { code?: string }) | null} */
    this.error = null;
    /** @type {Set<() => void>} */
    this.waiters_ = new Set();
  }

  get isDone() {
    return this.safe === this.total;
  }

  /** @returns {number[]} records to put into the engine, in order */
  get open() {
    return [...this.states_.keys()].filter((index) => [NEW, FAILED].includes(this.states_[index]));
  }

  /** @returns {number} the first record that is not safe */
  get firstOpen() {
    return this.states_.findIndex((state) => state !== SAFE);
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
      this.states_[index] = PENDING;
      this.pending++;
      put(records[index], (error) => this.settle_(index, error));
    }
  }

  /** @param {number} index @param {Error} [error] */
  settle_(index, error) {
    this.states_[index] = error ? FAILED : SAFE;
    this.pending--;
    if (error) this.error ??= error;
    else this.safe++;
    if (this.pending === 0) for (const resolve of this.waiters_) resolve();
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
        this.waiters_.delete(end);
        resolve(undefined);
      };
      const timer = setTimeout(end, timeoutMs);
      this.waiters_.add(end);
    });
  }
}

exports.Submission = Submission;
