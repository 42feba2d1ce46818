'use strict';
// What a log does when it is full, in SQLite and in PostgreSQL: it holds chunks or displaces others, and notices that
// there is room again.

/** @typedef {import('./log-limits').Limits} Limits */
/** @typedef {import('./log-limits').Usage} Usage */
/** @typedef {{ recordClass: number, cost: number, limit: 'class' | 'total' }} Full a chunk that found no room */

/** Interval after which a full class is tried again: the engine cannot be asked for the other classes alone. */
const PROBE_MS = 25;

/**
 * Makes room for a chunk in a transaction, which holds it, or drops it, if there is none.
 * @param {object} transaction
 * @param {Usage} transaction.usage
 * @param {(Full & { ticket: number })[]} transaction.held
 * @param {number[]} transaction.dropped tickets
 * @param {Limits} limits
 * @param {{ ticket: number, recordClass: number, cost: number }} chunk
 * @param {(recordClass: number) => boolean} displace removes the oldest chunk of a class, false = it knows none
 * @returns {boolean} true if the chunk may be saved
 */
function makeRoom({ usage, held, dropped }, limits, chunk, displace) {
  const { ticket, recordClass, cost } = chunk;
  // A smaller chunk that came later could fit, and would be read back before those that wait: rows determine the order
  // of a class.
  const before = held.find((each) => each.recordClass === recordClass);
  if (before) {
    held.push({ ...chunk, limit: before.limit });
    return false;
  }
  for (;;) {
    const limit = limits.check(usage, recordClass, cost);
    if (limit === 'fits') return true;
    if (limits.whenFull === 'slow') {
      held.push({ ...chunk, limit });
      return false;
    }
    const victim = limits.victim(usage, recordClass, cost);
    if (victim === 0 || !displace(victim)) {
      dropped.push(ticket);
      return false;
    }
  }
}

/** Whether a log is full, and whether it takes chunks then. */
class FullLog {
  #limits;
  #now;
  #changed;
  /** @type {Full | null} */
  #chunk = null;
  #probeAt = 0;

  /** @param {{ limits: Limits, now: () => number, changed: () => void }} parts changed: called for another limit */
  constructor({ limits, now, changed }) {
    this.#limits = limits;
    this.#now = now;
    this.#changed = changed;
  }

  clear() {
    this.#chunk = null;
  }

  /**
   * Notes the outcome of a transaction.
   * @param {Full | undefined} chunk that it held
   * @param {boolean} hasTaken it took what the engine had: once nothing is left over, nothing waits for room
   * @param {Usage} usage
   */
  note(chunk, hasTaken, usage) {
    const next = chunk ?? (hasTaken || this.#fits(usage) ? null : this.#chunk);
    const isOther = this.#chunk?.limit !== next?.limit;
    this.#chunk = next;
    if (next) this.#probeAt = this.#now() + PROBE_MS;
    if (isOther) this.#changed();
  }

  /** @param {Usage} usage @returns {boolean} */
  mayTake(usage) {
    return this.#fits(usage) || (this.isOfClass && this.#now() >= this.#probeAt);
  }

  /** True if only a class is full, and others may have room. */
  get isOfClass() {
    return this.#chunk?.limit === 'class';
  }

  /** @param {number} due of the engine's chunks, ms, -1 = none @returns {number} ms until they may be taken, or -1 */
  waitFor(due) {
    if (due < 0) return -1;
    return this.isOfClass ? Math.max(due, this.#probeAt - this.#now()) : due;
  }

  /** @returns {{ state: string, code: string, reason: string } | null} of the log, null = it is not full */
  get condition() {
    return this.#chunk && { state: 'full', code: 'LOG_FULL', reason: this.#limits.explain(this.#chunk) };
  }

  /** @param {Usage} usage */
  #fits(usage) {
    const chunk = this.#chunk;
    return !chunk || this.#limits.check(usage, chunk.recordClass, chunk.cost) === 'fits';
  }
}

module.exports = { FullLog, makeRoom };
