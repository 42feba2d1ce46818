'use strict';
// Batches whose records are still in the flow. The flow may fail: then the batch must pass again, so its key is
// forgotten. A copy that arrives meanwhile has the end of the first one: to acknowledge it earlier would be a promise
// that the flow may not keep.

/** @typedef {import('./record-key').Key} Key */
/** @typedef {(error?: Error) => void} Done */

class OpenBatches {
  /** By key without the part. @type {Map<string, { open: number, keys: Key[], hasFailed: boolean, copies: Done[] }>} */
  #batches = new Map();
  #forget;

  /** @param {(key: Key) => void} forget a batch, or a part of one, that the flow did not deliver */
  constructor(forget) {
    this.#forget = forget;
  }

  /**
   * @param {Key} key
   * @returns {(isDelivered: boolean) => void} to be called once, when the flow has ended with the batch
   */
  open(key) {
    const name = nameOf(key);
    const batch = this.#batches.get(name) ?? { open: 0, keys: [], hasFailed: false, copies: [] };
    this.#batches.set(name, batch);
    batch.keys.push(key);
    batch.open++;
    return (isDelivered) => {
      batch.open--;
      batch.hasFailed ||= !isDelivered;
      if (!isDelivered) this.#forget(key);
      if (batch.open > 0) return;
      this.#batches.delete(name);
      const error = batch.hasFailed ? new Error(NOT_DELIVERED) : undefined;
      for (const done of batch.copies) done(error);
    };
  }

  /** The flow ends: what is still in it passes again. */
  abandon() {
    for (const { keys } of this.#batches.values()) for (const key of keys) this.#forget(key);
  }

  /**
   * Completes a copy when the first one is over.
   * @param {Key} key
   * @param {Done} done
   */
  repeat(key, done) {
    const batch = this.#batches.get(nameOf(key));
    if (batch) batch.copies.push(done);
    else done();
  }
}

const NOT_DELIVERED = 'The first copy of this batch was not delivered. It passes when it arrives again.';

/** @param {Key} key */
function nameOf({ gateway, epoch, lane, sequence }) {
  return `${gateway}/${epoch}/${lane}/${sequence}`;
}

exports.OpenBatches = OpenBatches;
