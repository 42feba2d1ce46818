'use strict';

const { refusalName } = require('../../session/reason-codes');
const { Quota } = require('./broker-quota');
const { DetachedBatches } = require('./detached-batches');
const { MAX_MS, Pause } = require('./pause');
const { allRefused, refusedForNow } = require('./problem-sentences');
const { Refusals, isFinal } = require('./refusals');
const { SetApart } = require('./set-apart');

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
 * Number of refusals for an exceeded quota, about two minutes, after which a packet no longer holds up the others: the
 * broker may refuse only this one.
 */
const QUOTA_TRIES = 7;
/** Longest time between two packets that are tried in the last place of the window. */
const LAST_PLACE_MS = 10000;

/**
 * Sends refused packets again after a while. Until then, a packet that is kept holds its place in the window, so that a
 * broker that refuses everything slows the sender down instead of filling the memory. One place is always left for
 * others, so that the broker can show that it refuses only these. A packet that will be given up soon holds no place.
 */
class Resends {
  #parts;
  /** Packets that wait for their next try without a place in the window. */
  #outside;
  /** Packets that are kept and wait without a place in the window. */
  #apart;
  /** Slows down while the last place in the window meets only refusals. */
  #pause;
  /** A timer ends the time in which nothing is sent. */
  #isAwaiting = false;
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
    this.#apart = new SetApart(parts);
    this.#pause = new Pause(parts.now, LAST_PLACE_MS);
  }

  /** True if nothing is refused or waiting to be sent again without a place in the window. */
  get isCalm() {
    return this.#outside.count + this.#apart.count === 0 && this.pauseMs === 0 && !this.quota.isRecovering;
  }

  /** Time in ms until all temporarily refused packets will have been sent again, 0 = there are none. */
  get waitMs() {
    return Math.max(0, this.#until - this.#parts.now());
  }

  /** Time in ms until anything may be sent. */
  get pauseMs() {
    return Math.max(this.quota.waitMs, this.#pause.waitMs);
  }

  connected() {
    this.#outside.connected();
  }

  disconnected() {
    this.#life++;
    this.#outside.disconnected();
    this.#apart.clear();
    this.#until = 0;
    this.#pause.end();
    this.quota.disconnected();
  }

  /** The batches are no longer ours. */
  abandon() {
    this.#life++;
    this.#apart.clear();
    this.quota.abandon();
    this.#outside.abandon();
  }

  /** The broker accepted a packet. */
  taken() {
    this.refusals.taken(this.quota.isRecovering);
    this.quota.pause.taken();
    this.#pause.taken();
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
    const { window } = this.#parts;
    if (window.waiting + 1 < window.othersLimit || this.#apart.isFull) this.#putOff(batch, index, wait);
    else {
      this.#apart.add(batch, index, wait);
      if (batch.tries[index] > 1) return;
      this.#pause.begin();
      this.#awaitEnd();
    }
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
      batch.sendAnew(index);
      again(batch);
    }, wait);
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} reasonCode
   */
  #exceeded(batch, index, reasonCode) {
    this.refusals.keep(reasonCode);
    if (batch.tries[index] >= QUOTA_TRIES && !this.#apart.isFull) {
      // The next packet is sent at once: if it is refused, too, the quota is used up, and this packet is first again.
      this.#keep(reasonCode, MAX_MS);
      this.#apart.add(batch, index, MAX_MS);
      return;
    }
    this.quota.exceeded(batch);
    this.#keep(reasonCode, this.quota.waitMs);
    batch.sendAnew(index);
    this.#parts.again(batch);
    this.#awaitEnd();
  }

  /** Wakes the pump when something may be sent. A timer may fire a little early. */
  #awaitEnd() {
    if (this.#isAwaiting) return;
    this.#isAwaiting = true;
    this.#parts.delay(() => {
      this.#isAwaiting = false;
      if (this.pauseMs > 0) this.#awaitEnd();
      else this.#parts.go();
    }, this.pauseMs);
  }
}

exports.Resends = Resends;
