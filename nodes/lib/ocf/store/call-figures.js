'use strict';

/** Calls since the start; seconds: of those that have ended. @typedef {{ done: number, failed: number, seconds: number }} Row */

/** Counts the calls of a store, and the time that they took, for the metrics. */
class CallFigures {
  #rows = { read: newRow(), write: newRow() };
  #open = 0;

  /**
   * @template T
   * @param {'read' | 'write'} kind
   * @param {Promise<T>} call
   * @returns {Promise<T>} the same
   */
  count(kind, call) {
    const row = this.#rows[kind];
    const at = performance.now();
    this.#open++;
    const end = (/** @type {'done' | 'failed'} */ how) => {
      this.#open--;
      row[how]++;
      row.seconds += (performance.now() - at) / 1000;
    };
    call.then(
      () => end('done'),
      () => end('failed')
    );
    return call;
  }

  /** Returns the calls since the start, and those that have no result yet. */
  snapshot() {
    const { read, write } = this.#rows;
    return { read: { ...read }, write: { ...write }, waiting: this.#open };
  }
}

/** @returns {Row} */
const newRow = () => ({ done: 0, failed: 0, seconds: 0 });

exports.CallFigures = CallFigures;
