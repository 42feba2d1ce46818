'use strict';

const { refusalName } = require('../../session/reason-codes');
const { Quota } = require('./broker-quota');
const { DetachedBatches } = require('./detached-batches');
const { allRefused, refusedForNow } = require('./problem-sentences');
const { Refusals, isFinal } = require('./refusals');

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */

/**
 * @typedef {object} ResendsParts
 * @property {import('../in-flight-window').InFlightWindow} window
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {number} retryMs wait after a refusal that looks permanent
 * @property {(code: string, reason: string) => void} problem
 * @property {import('./dead-letters').DeadLetters} deadLetters
 * @property {(batch: TakenBatch) => void} again the batch has something to send again
 * @property {() => void} go packets that were held back may be sent
 */

/**
 * Sends refused packets again after a while. Until then, a packet that is kept holds its place in the window, so that a
 * broker that refuses everything slows the sender down instead of filling the memory. A packet that will be given up
 * soon holds no place.
 */
class Resends {
  #parts;
  /** Packets that wait for their next try without a place in the window. */
  #outside;
  /** When all temporarily refused packets will have been sent again. */
  #until = 0;
  /** Increases with every lost connection, and when the batches are no longer ours. Older timers then do nothing. */
  #life = 0;

  /** @param {ResendsParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.refusals = new Refusals(parts.window, parts.retryMs);
    this.quota = new Quota(parts.window, parts.now);
    this.#outside = new DetachedBatches(parts);
  }

  /** True if nothing is refused or waiting to be sent again without a place in the window. */
  get isCalm() {
    return this.#outside.count === 0 && this.quota.waitMs === 0;
  }

  /** Time in ms until all temporarily refused packets will have been sent again, 0 = there are none. */
  get waitMs() {
    return Math.max(0, this.#until - this.#parts.now());
  }

  connected() {
    this.#outside.connected();
  }

  disconnected() {
    this.#life++;
    this.#outside.disconnected();
    this.#until = 0;
    this.quota.disconnected();
  }

  /** The batches are no longer ours. */
  abandon() {
    this.#life++;
    this.#outside.abandon();
  }

  /** The broker accepted a packet. */
  taken() {
    this.refusals.taken();
    this.quota.taken();
  }

  /**
   * The broker refused a packet.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} reasonCode
   */
  refused(batch, index, reasonCode) {
    if (batch.tries[index] === 0) batch.takenBefore[index] = this.refusals.takenCount;
    batch.tries[index] = Math.min(255, batch.tries[index] + 1);
    if (Quota.is(reasonCode)) return this.#exceeded(batch, index, reasonCode);
    const wait = this.refusals.next(reasonCode, batch.tries[index], batch.takenBefore[index]);
    const name = refusalName(reasonCode);
    if (wait < 0) return this.#parts.deadLetters.refused(batch, index, reasonCode, name);
    if (this.refusals.allRefused !== 0) this.#parts.problem('ALL_REFUSED', allRefused(name));
    if (!isFinal(reasonCode)) this.#keep(reasonCode, wait);
    else if (!this.#outside.isFull) return this.#outside.add(batch, index, wait);
    this.#putOff(batch, index, wait);
  }

  /** @param {number} reasonCode of a packet that will be sent again @param {number} wait */
  #keep(reasonCode, wait) {
    this.#until = Math.max(this.#until, this.#parts.now() + wait);
    this.#parts.problem(`PUBACK_${reasonCode}`, refusedForNow(refusalName(reasonCode)));
  }

  /** @param {TakenBatch} batch @param {number} index @param {number} wait */
  #putOff(batch, index, wait) {
    const { window, delay, again } = this.#parts;
    batch.putOff(index);
    window.wait(batch);
    const { order } = batch;
    const life = this.#life;
    delay(() => {
      if (this.#life !== life || batch.order !== order || !batch.isPutOff(index)) return;
      window.endWait(batch);
      batch.sendAgain(index);
      again(batch);
    }, wait);
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} reasonCode
   */
  #exceeded(batch, index, reasonCode) {
    const { delay, again, go } = this.#parts;
    const wait = this.quota.exceeded();
    this.refusals.keep(reasonCode);
    this.#keep(reasonCode, wait);
    batch.sendAgain(index);
    again(batch);
    delay(go, wait);
  }
}

exports.Resends = Resends;
