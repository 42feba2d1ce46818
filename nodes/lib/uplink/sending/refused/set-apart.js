'use strict';

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */

/** Limits the memory that they hold. */
const MAX_APART = 1000;

/**
 * Packets that are refused for now, and wait for their next try without a place in the window, so that they do not hold
 * up the others. When the connection ends, they are sent again like all others, in their order.
 */
class SetApart {
  #delay;
  #again;
  /** Increases with every lost connection. Older timers then do nothing. */
  #life = 0;
  count = 0;

  /**
   * @param {object} parts
   * @param {(fn: () => void, ms: number) => void} parts.delay
   * @param {(batch: TakenBatch) => void} parts.again a packet of the batch is to be sent
   */
  constructor({ delay, again }) {
    this.#delay = delay;
    this.#again = again;
  }

  get isFull() {
    return this.count >= MAX_APART;
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index of a packet that was in flight
   * @param {number} waitMs
   */
  add(batch, index, waitMs) {
    batch.putOff(index);
    this.count++;
    const { order } = batch;
    const life = this.#life;
    this.#delay(() => {
      if (life !== this.#life) return;
      this.count--;
      if (batch.order !== order || !batch.isPutOff(index)) return;
      batch.sendAnew(index);
      this.#again(batch);
    }, waitMs);
  }

  /** The connection is gone, or the batches are no longer ours. */
  clear() {
    this.#life++;
    this.count = 0;
  }
}

exports.SetApart = SetApart;
