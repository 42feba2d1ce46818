'use strict';

const { Pause } = require('./pause');

const QUOTA_EXCEEDED = 0x97;

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */

/**
 * Handles a broker that reports an exceeded quota. The quota is the client's, not the packet's, so nothing is sent for
 * a while, longer each time. Then the refused packets are sent again in their order, one at a time, and nothing new of
 * their classes until all of them are accepted: otherwise the packets behind them would overtake them.
 */
class Quota {
  #window;
  /** Order of the last batch with a refused packet, by lane. @type {Map<number, number>} */
  #lanes = new Map();
  /** The next packet may be an alarm. */
  #isAlarmNext = false;

  /** @param {import('../in-flight-window').InFlightWindow} window @param {() => number} now ms, monotonic */
  constructor(window, now) {
    this.#window = window;
    this.pause = new Pause(now);
  }

  /** @param {number} code of a PUBACK */
  static is(code) {
    return code === QUOTA_EXCEEDED;
  }

  /** True until all refused packets are accepted. */
  get isRecovering() {
    return this.#lanes.size > 0;
  }

  /** Time in ms until the next packet may be sent. */
  get waitMs() {
    return this.pause.waitMs;
  }

  /** A packet of the batch was refused. @param {TakenBatch} batch */
  exceeded(batch) {
    this.pause.begin();
    const lane = laneOf(batch);
    this.#lanes.set(lane, Math.max(this.#lanes.get(lane) ?? 0, batch.order));
    this.#window.ceiling = 1;
  }

  /**
   * Returns the queue whose first packet is the next to be sent, null = all refused packets are accepted. REQUIRES:
   * nothing is in flight.
   * @param {import('../send-queues').SendQueues} queues
   * @returns {TakenBatch[] | null}
   */
  next({ live, backlog }) {
    for (const queue of [...live, ...backlog]) {
      if (queue.length === 0) continue;
      const last = this.#lanes.get(laneOf(queue[0])) ?? 0;
      if (queue[0].order <= last) return queue;
    }
    this.#lanes.clear();
    return null;
  }

  /** Every other packet may be an alarm, so that neither waits for all of the others. */
  takesTurn() {
    this.#isAlarmNext = !this.#isAlarmNext;
    return this.#isAlarmNext;
  }

  /** The connection is gone, and everything that was in flight is sent again in its order. */
  disconnected() {
    this.pause.end();
    this.abandon();
  }

  /** The batches are no longer ours. */
  abandon() {
    this.#lanes.clear();
  }
}

/** @param {TakenBatch} batch */
function laneOf(batch) {
  return batch.isBacklog ? -batch.class : batch.class;
}

exports.Quota = Quota;
