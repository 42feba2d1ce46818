'use strict';
// The records of one request on their way to safety. With an Idempotency-Key a repeated request goes on with the same job: what is in
// the engine is not put in again.

const NEW = 0;
const PENDING = 1;
const SAFE = 2;
const FAILED = 3;

class Job {
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

  /** @returns {number[]} records that have to be put in, in order */
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
   * @param {() => boolean} hasRoom false = what is left is not put in
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
   * @returns {Promise<void>} when nothing is pending, or it took too long
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

exports.Job = Job;
