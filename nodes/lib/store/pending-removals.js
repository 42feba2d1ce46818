'use strict';

const FREES = 512;
const DELAY_MS = 100;

/**
 * @typedef {object} Move an unusable chunk that goes to quarantine
 * @property {number} row
 * @property {string} node
 * @property {number} recordClass
 * @property {number} records
 * @property {string} reason
 * @property {boolean} unread its body cannot be read
 */

/**
 * Rows to be removed from the database. No caller waits for them, so they are removed with the next commit, or in a
 * commit of their own when the oldest has waited for 100 ms or 512 rows are pending.
 */
class Pending {
  constructor() {
    this.ids = new Float64Array(FREES);
    /** @type {number[]} */
    this.deletes = [];
    /** @type {Move[]} */
    this.moves = [];
    /** Rows that SQLite cannot delete because their pages are damaged. They remain. @type {Set<number>} */
    this.stuck = new Set();
    /** The engine waits for freed(). */
    this.handedOver = false;
    this.since = 0;
  }

  get size() {
    return this.deletes.length + this.moves.length;
  }

  get isFull() {
    return this.size >= FREES;
  }

  /** @param {import('../../../native').StoreSource} source @param {number} now */
  collect(source, now) {
    while (!this.isFull) {
      const count = source.frees(this.ids);
      if (count === 0) return;
      this.handedOver = true;
      this.#started(now);
      for (let i = 0; i < count; i++) this.deletes.push(this.ids[i]);
    }
  }

  /** @param {Move} move @param {number} now */
  move(move, now) {
    this.#started(now);
    this.moves.push(move);
  }

  /** Returns the time in ms until the rows should be committed, -1 = there are none. @param {number} now */
  wait(now) {
    if (this.size === 0 && !this.handedOver) return -1;
    return this.isFull ? 0 : Math.max(0, this.since + DELAY_MS - now);
  }

  /** Everything is done, or there is nothing left to do. */
  clear() {
    this.deletes = [];
    this.moves = [];
    this.handedOver = false;
  }

  /** @param {number} now */
  #started(now) {
    if (this.size === 0) this.since = now;
  }
}

exports.Pending = Pending;
