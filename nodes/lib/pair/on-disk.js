'use strict';

/** @typedef {import('./pair-transaction').Known} Known */

/** The chunks on disk by class, the oldest first, of a log that removes them when it is full. */
class OnDisk {
  /** @type {Map<number, Known[]>} */
  #classes = new Map();

  /** @param {Known[]} chunks the oldest first */
  reset(chunks) {
    this.#classes.clear();
    for (const chunk of chunks) this.add(chunk);
  }

  /** @param {number} recordClass @returns {Known | undefined} the oldest one, which it removes from the list */
  oldest(recordClass) {
    return this.#classes.get(recordClass)?.shift();
  }

  /** Puts chunks back that oldest() returned, in this order. @param {Known[]} chunks */
  putBack(chunks) {
    for (const chunk of chunks.toReversed()) this.#classes.get(chunk.recordClass)?.unshift(chunk);
  }

  /**
   * A transaction is committed.
   * @param {Known[]} saved
   * @param {import('../store/pending-removals').Pending} pending what it removed
   */
  follow(saved, { deletes, moves }) {
    const gone = new Set([...deletes, ...moves.map(({ row }) => row)]);
    for (const [recordClass, list] of this.#classes) {
      if (list.some(({ row }) => gone.has(row))) {
        this.#classes.set(
          recordClass,
          list.filter(({ row }) => !gone.has(row))
        );
      }
    }
    for (const { row, recordClass, records, cost } of saved) this.add({ row, recordClass, records, cost });
  }

  /** @param {Known} chunk */
  add(chunk) {
    const list = this.#classes.get(chunk.recordClass);
    if (list) list.push(chunk);
    else this.#classes.set(chunk.recordClass, [chunk]);
  }
}

exports.OnDisk = OnDisk;
