'use strict';

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {{ name: keyof import('./operations').Writes, input: any, resolve: (value: any) => void, reject: (error: Error) => void }} Job */

/** ms from the first write to its commit. */
const COLLECT_MS = 3;
const MOST_IN_COMMIT = 256;
/**
 * A commit takes no further write after this time in ms, so that a slow database does not hold a lock for long. It
 * begins with the second write.
 */
const MOST_COMMIT_MS = 250;
/** Writes that wait. Beyond that, a write fails at once, so that memory stays bounded. */
const MOST_WAITING = 4096;

/** Collects writes for some milliseconds, so that many of them share a commit. */
class GroupCommit {
  #commit;
  #collectMs;
  /** @type {Job[]} */
  #waiting = [];
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  /** @type {Promise<void> | null} */
  #committing = null;
  #isClosed = false;

  /**
   * @param {(take: () => Job | undefined) => Promise<void>} commit runs jobs as one transaction, those that take()
   *   returns until it returns none. Settles the promise of each, and never throws.
   * @param {number} [collectMs]
   */
  constructor(commit, collectMs = COLLECT_MS) {
    this.#commit = commit;
    this.#collectMs = collectMs;
  }

  /**
   * @param {Job['name']} name
   * @param {any} input
   * @returns {Promise<any>} what the operation returns, once it is durable
   */
  write(name, input) {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed());
      if (this.#waiting.length >= MOST_WAITING) return reject(new Error('The database is too busy.'));
      this.#waiting.push({ name, input, resolve, reject });
      this.#schedule();
    });
  }

  /** Fails the writes that no commit has taken. @param {Error} error */
  failWaiting(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** Commits what waits. */
  async close() {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#committing;
    await this.#commitAll();
  }

  #schedule() {
    if (this.#timer || this.#committing) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#committing = this.#commitAll().finally(() => {
        this.#committing = null;
        if (this.#waiting.length > 0 && !this.#isClosed) this.#schedule();
      });
    }, this.#collectMs);
  }

  async #commitAll() {
    while (this.#waiting.length > 0) {
      let began = 0;
      let taken = 0;
      await this.#commit(() => {
        if (taken >= MOST_IN_COMMIT || (taken > 1 && Date.now() - began > MOST_COMMIT_MS)) return undefined;
        // The first write waits for the lock, which others may hold for long.
        if (++taken === 2) began = Date.now();
        return this.#waiting.shift();
      });
    }
  }
}

function closed() {
  return new Error('The database is closed.');
}

module.exports = { GroupCommit, closed };
