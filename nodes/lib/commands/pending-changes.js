'use strict';
// Commands to add to a store and rows to remove from it, until the store takes them together: a burst costs one sync.

/** @typedef {import('./command').Command} Command */
/** @typedef {{ command: Command, done: (error: Error | null, row: number) => void }} Addition */

/** Delay of a removal. After a crash, a row not yet removed causes a second delivery, never a missing one. */
const REMOVE_LINGER_MS = 50;

class PendingChanges {
  #flush;
  /** @type {Addition[]} */
  #additions = [];
  /** @type {number[]} */
  #removals = [];
  /** @type {NodeJS.Immediate | null} */
  #soon = null;
  /** @type {NodeJS.Timeout | null} */
  #later = null;

  /** @param {() => void} flush is called when it is time to take() */
  constructor(flush) {
    this.#flush = flush;
  }

  /** @param {Command} command @param {Addition['done']} done called when the command is stored, or cannot be */
  add(command, done) {
    this.#additions.push({ command, done });
    this.#soon ??= setImmediate(this.#flush);
  }

  /** @param {number} row */
  remove(row) {
    this.#removals.push(row);
    this.#later ??= setTimeout(this.#flush, REMOVE_LINGER_MS).unref();
  }

  /** The store could not remove these rows; the next change tries again. @param {number[]} rows */
  putBack(rows) {
    this.#removals.push(...rows);
  }

  /** @returns {{ additions: Addition[], removals: number[] } | null} the changes, once; null = there are none */
  take() {
    if (this.#soon) clearImmediate(this.#soon);
    if (this.#later) clearTimeout(this.#later);
    this.#soon = this.#later = null;
    if (this.#additions.length === 0 && this.#removals.length === 0) return null;
    return { additions: this.#additions.splice(0), removals: this.#removals.splice(0) };
  }
}

module.exports = { PendingChanges };
