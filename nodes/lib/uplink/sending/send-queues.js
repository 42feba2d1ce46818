'use strict';

const { CLASSES } = require('../../base/classes');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */

/**
 * Batches with something to send, by class, in the order in which they were taken. Live batches and backlog have
 * separate queues.
 */
class SendQueues {
  constructor() {
    const lanes = () => Array.from({ length: CLASSES + 1 }, () => /** @type {TakenBatch[]} */ ([]));
    this.live = lanes();
    this.backlog = lanes();
  }

  /** Returns the most urgent class with a batch in these queues, 0 = none. @param {TakenBatch[][]} lanes */
  best(lanes) {
    for (let c = 1; c <= CLASSES; c++) if (lanes[c].length > 0) return c;
    return 0;
  }

  get isEmpty() {
    return this.best(this.live) === 0 && this.best(this.backlog) === 0;
  }

  /** Idempotent. @param {TakenBatch} batch */
  add(batch) {
    if (batch.queued) return;
    const queue = (batch.isBacklog ? this.backlog : this.live)[batch.class];
    let at = queue.length;
    while (at > 0 && queue[at - 1].order > batch.order) at--;
    queue.splice(at, 0, batch);
    batch.queued = true;
  }

  /** @param {TakenBatch} batch */
  remove(batch) {
    if (!batch.queued) return;
    const queue = (batch.isBacklog ? this.backlog : this.live)[batch.class];
    queue.splice(queue.indexOf(batch), 1);
    batch.queued = false;
  }

  clear() {
    for (const queue of [...this.live, ...this.backlog]) {
      for (const batch of queue) batch.queued = false;
      queue.length = 0;
    }
  }
}

exports.CLASSES = CLASSES;
exports.SendQueues = SendQueues;
