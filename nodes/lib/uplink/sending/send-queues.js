'use strict';

const { CLASSES } = require('../../base/classes');

/** @typedef {import('./taken-batch').Slot} Slot */

/** Batches with something to send: by class, in the order they were taken. Live ones and backlog have their own. */
class Queues {
  constructor() {
    const lanes = () => Array.from({ length: CLASSES + 1 }, () => /** @type {Slot[]} */ ([]));
    this.live = lanes();
    this.backlog = lanes();
  }

  /** Most urgent class with a batch begun, 0 = none. @param {Slot[][]} lanes */
  best(lanes) {
    for (let c = 1; c <= CLASSES; c++) if (lanes[c].length > 0) return c;
    return 0;
  }

  get isEmpty() {
    return this.best(this.live) === 0 && this.best(this.backlog) === 0;
  }

  /** Idempotent. @param {Slot} slot */
  add(slot) {
    if (slot.queued) return;
    const queue = (slot.isBacklog ? this.backlog : this.live)[slot.class];
    let at = queue.length;
    while (at > 0 && queue[at - 1].order > slot.order) at--;
    queue.splice(at, 0, slot);
    slot.queued = true;
  }

  clear() {
    for (const queue of [...this.live, ...this.backlog]) {
      for (const slot of queue) slot.queued = false;
      queue.length = 0;
    }
  }
}

exports.CLASSES = CLASSES;
exports.Queues = Queues;
