'use strict';

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */

/** Limits the memory that they hold. */
const MAX_OUTSIDE = 1000;

/**
 * Packets that look permanently refused and wait for their next try outside the window. They stay here across a lost
 * connection: a broker may close the connection when it refuses a packet, and then the other packets go first on the
 * next connection.
 */
class DetachedBatches {
  /**
   * @param {object} parts
   * @param {(fn: () => void, ms: number) => void} parts.delay
   * @param {number} parts.retryMs time between a new connection and the tries that fell due while there was none
   * @param {(batch: TakenBatch) => void} parts.again a packet of the batch is to be sent
   */
  constructor({ delay, retryMs, again }) {
    this.delay = delay;
    this.retryMs = retryMs;
    this.again = again;
    this.count = 0;
    this.isConnected = false;
    /** Packets whose try fell due while there was no connection. @type {{batch: TakenBatch, index: number}[]} */
    this.parked = [];
    /** Increases when the batches are no longer ours. */
    this.generation = 0;
  }

  get isFull() {
    return this.count >= MAX_OUTSIDE;
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index of a packet that was in flight
   * @param {number} waitMs
   */
  add(batch, index, waitMs) {
    batch.detach(index);
    this.count++;
    this.#later(() => this.#try(batch, index), waitMs);
  }

  connected() {
    this.isConnected = true;
    const parked = this.parked.splice(0);
    if (parked.length === 0) return;
    this.#later(() => {
      for (const { batch, index } of parked) this.#try(batch, index);
    }, this.retryMs);
  }

  disconnected() {
    this.isConnected = false;
  }

  /** The batches are no longer ours. */
  abandon() {
    this.generation++;
    this.count = 0;
    this.parked = [];
  }

  /** @param {() => void} fn @param {number} ms */
  #later(fn, ms) {
    const { generation } = this;
    this.delay(() => generation === this.generation && fn(), ms);
  }

  /** @param {TakenBatch} batch @param {number} index */
  #try(batch, index) {
    if (!this.isConnected) {
      this.parked.push({ batch, index });
      return;
    }
    this.count--;
    batch.sendAnew(index);
    this.again(batch);
  }
}

exports.DetachedBatches = DetachedBatches;
