'use strict';

/**
 * @typedef {object} TurnParts
 * @property {Pick<typeof import('../../../native'), 'restUplink'>} native
 * @property {() => boolean} run one turn of all groups; returns false if the thread waits for an end, so that it must
 *   not rest
 * @property {() => { records: number, isWaiting: boolean }} load records: taken since the thread started
 */

/**
 * Schedules one turn for all events of one turn of the event loop (a doorbell, many PUBACKs of one read). A turn is one
 * pump, and so one write, of each group that requested it. After it, the thread rests if the load makes that
 * worthwhile.
 */
class Turns {
  /** @param {TurnParts} parts */
  constructor({ native, run, load }) {
    this.native = native;
    this.run = run;
    this.load = load;
    this.isScheduled = false;
    this.isStopped = false;
    /** Number of records that the wake-up moderation knows of. */
    this.recordsBefore = 0;
  }

  wake() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => this.#turn());
  }

  /** No turn follows. */
  stop() {
    this.isStopped = true;
  }

  #turn() {
    this.isScheduled = false;
    if (this.isStopped || !this.run() || this.isScheduled) return;
    const { records, isWaiting } = this.load();
    this.native.restUplink(records - this.recordsBefore, isWaiting);
    this.recordsBefore = records;
  }
}

exports.Turns = Turns;
