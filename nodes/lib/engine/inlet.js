'use strict';
// What JavaScript brings into the engine at one node: the records of its messages, or of its own devices.

const { CODES, LIMIT, failure } = require('./inbox');
const { guard } = require('../base/guard');

/**
 * @typedef {import('./figures/meter').Rates} Rates
 * @typedef {import('./inbox').Done} Done
 * @typedef {import('../base/record').RecordArgs} RecordArgs
 */

class Inlet {
  #member;
  #host;
  /** Messages that came before the first plan with this node. @type {{ go: () => void, done: Done }[]} */
  #early = [];

  /** @param {import('./member').Member} member */
  constructor(member) {
    this.#member = member;
    this.#host = member.host;
    /** Records that it passed on in JavaScript since count(). */
    this.passed = 0;
  }

  /**
   * Handles a message when the engine knows the stage and its settings: now, or, in order, when the first plan with
   * this node is in use. Node-RED delivers messages to a new node before that, for example from a function node that a
   * deploy did not touch.
   * @param {() => void} go
   * @param {Done} done called with an error if too many messages wait, or if the node closes before
   */
  whenPlanned(go, done) {
    if (this.#member.route) return go();
    if (this.#early.length >= LIMIT) {
      const sentence = `The deploy is not finished: ${LIMIT} messages already wait for it. Send the message again.`;
      return done(failure(CODES.FULL, sentence));
    }
    this.#early.push({ go, done });
  }

  /** A plan with this node is in use. */
  planned() {
    for (const { go, done } of this.#early.splice(0)) guard(go, done);
  }

  /**
   * @param {Done} done
   * @returns {boolean} true: called `done` with an error, because this node must not accept records
   */
  #refuses(done) {
    const { shut } = this.#member.route ?? {};
    if (shut) done(failure(CODES.NO_ROUTE, shut.sentence));
    return Boolean(shut);
  }

  /**
   * Puts a record into this node's own stage.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {{ delivery?: boolean, msg?: object }} [options] msg: the message that became the record
   */
  put(args, done, { delivery = false, msg } = {}) {
    if (this.#refuses(done)) return;
    if (delivery && this.#member.delivery)
      return this.#host.inbox.put(this.#member.stage, args, () => {}, { safe: done });
    this.#host.inbox.put(this.#member.stage, args, done, {
      delivery,
      safe: this.#host.deliveries.comesBack(msg)
    });
  }

  /**
   * Passes a record to every stage that follows natively.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {object} msg the message that became the record
   */
  pass(args, done, msg) {
    this.passed++;
    this.#passOn(args, done, msg);
  }

  /** Counts a message that it sends on without a record. */
  passMessage() {
    this.passed++;
  }

  /**
   * Adds what it passed on in JavaScript to its rates. Call it once for each reading of the counters.
   * @param {Rates} rates
   */
  count({ seconds, stages }) {
    const perS = this.passed / Math.max(seconds, 0.001);
    this.passed = 0;
    const row = stages.get(this.#member.stage);
    if (!row) return;
    row.recordsIn = hundredths(row.recordsIn + perS);
    row.recordsOut = hundredths(row.recordsOut + perS);
  }

  /** @param {RecordArgs} args @param {Done} done @param {object} msg */
  #passOn(args, done, msg) {
    if (this.#host.postpones(() => this.#passOn(args, done, msg))) return;
    if (this.#refuses(done)) return;
    const next = this.#member.route?.next ?? [];
    if (next.length === 0) return done();
    const isSafe = this.#host.deliveries.comesBack(msg);
    const each = afterAll(next.length, done);
    const safe = isSafe && afterAll(next.length, isSafe);
    for (const stage of next) this.#host.inbox.put(stage, args, each, { safe });
  }

  /** Fails the messages that wait for the first plan. */
  close() {
    const closed = failure(CODES.CLOSED, 'The node closed before its first plan was in use.');
    for (const { done } of this.#early.splice(0)) done(closed);
  }
}

/**
 * @param {number} count
 * @param {Done} done gets the first error. A stage that leads nowhere, such as a tap that samples, is no error while
 *   another one takes the record
 * @returns {Done} to be called `count` times
 */
function afterAll(count, done) {
  let open = count;
  let isTaken = false;
  /** @type {(Error & { code?: string }) | undefined} */
  let noRoute;
  /** @type {Error | undefined} */
  let failed;
  return (/** @type {(Error & { code?: string }) | undefined} */ error) => {
    if (!error) isTaken = true;
    else if (error.code === CODES.NO_ROUTE) noRoute ??= error;
    else failed ??= error;
    if (--open === 0) done(failed ?? (isTaken ? undefined : noRoute));
  };
}

/** @param {number} value */
function hundredths(value) {
  return Math.round(value * 100) / 100;
}

exports.Inlet = Inlet;
