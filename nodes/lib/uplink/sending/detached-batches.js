'use strict';

const { REFUSED } = require('./taken-batch');

/** @typedef {import('./taken-batch').Slot} Slot */

/** They hold memory. */
const MAX_OUTSIDE = 1000;

/**
 * Packets that look refused for good and wait for their next try outside of the window. They wait over a lost connection too: a broker may close
 * the connection when it refuses, and then the others go first on the next one.
 */
class Outside {
  /**
   * @param {object} parts
   * @param {(fn: () => void, ms: number) => void} parts.delay
   * @param {number} parts.retryMs between a new connection and the tries that came while there was none
   * @param {(slot: Slot) => void} parts.again a packet of the batch is to be sent
   */
  constructor({ delay, retryMs, again }) {
    this.delay = delay;
    this.retryMs = retryMs;
    this.again = again;
    this.count = 0;
    this.isConnected = false;
    /** Those whose try came while there was no connection. @type {{slot: Slot, index: number}[]} */
    this.parked = [];
    /** Rises when the batches are no longer ours. */
    this.generation = 0;
  }

  get isFull() {
    return this.count >= MAX_OUTSIDE;
  }

  /** @param {Slot} slot @param {number} index of a packet that was in flight @param {number} waitMs */
  add(slot, index, waitMs) {
    slot.states[index] = REFUSED;
    this.count++;
    this.#later(() => this.#try(slot, index), waitMs);
  }

  connected() {
    this.isConnected = true;
    const parked = this.parked.splice(0);
    if (parked.length === 0) return;
    this.#later(() => {
      for (const { slot, index } of parked) this.#try(slot, index);
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

  /** @param {Slot} slot @param {number} index */
  #try(slot, index) {
    if (!this.isConnected) {
      this.parked.push({ slot, index });
      return;
    }
    this.count--;
    slot.sendAgain(index);
    this.again(slot);
  }
}

exports.Outside = Outside;
