'use strict';
// Passes messages to the engine. Those that the engine cannot accept yet wait here, in order, up to a limit for each
// node. `done` of a message is called exactly once.

const { asError, guard } = require('../base/guard');

const LIMIT = 1000;

/**
 * @typedef {import('../base/record').RecordArgs} RecordArgs
 * @typedef {(error?: Error) => void} Done
 * @typedef {{ args: RecordArgs, ticket: number, done: Done }} Waiting
 *
 * @typedef {object} Pushes the part of the native Engine used here
 * @property {(stage: number, deviceId: string, topic: string, payload: Uint8Array, cls: number,
 *   flags: number, ts: number, seq: number, ticket: number) => number} push
 * @property {() => number[]} takeCompletions
 */

const OK = 0;
const FULL = 1;
const TOO_LONG = 2;
const CLOSED = 3;
const NO_STAGE = 4;
const NO_ROUTE = 5;
const ODD_TOPIC = 6;
/** Result of a completion: the record is safe, or the cloud has it. */
const OK_COMPLETION = 1;
/** Result of a completion: the engine no longer holds the record, and it was never safe. */
const WITHHELD = 2;

/** Codes of the errors with which `done` is called. Callers map them to the answer for a device. */
const CODES = /** @type {const} */ ({
  FULL: 'SEGANET_FULL',
  TOO_LONG: 'SEGANET_TOO_LONG',
  CLOSED: 'SEGANET_CLOSED',
  NO_STAGE: 'SEGANET_NO_STAGE',
  /** The records of the node have no destination. */
  NO_ROUTE: 'SEGANET_NO_ROUTE',
  ODD_TOPIC: 'SEGANET_ODD_TOPIC',
  REFUSED: 'SEGANET_REFUSED',
  DROPPED: 'SEGANET_DROPPED'
});

class Inbox {
  /**
   * @param {Pushes} engine
   * @param {(error: Error) => void} report gets an error that a `done` throws; the other records continue
   */
  constructor(engine, report) {
    this.engine_ = engine;
    this.report_ = report;
    /** True before the first plan and between two plans. Records wait, because their stage may not exist yet. */
    this.waitForPlan = true;
    /** @type {Map<number, Waiting[]>} by stage */
    this.waiting_ = new Map();
    /** @type {Map<number, Done>} pushes to an uplink that the cloud has not acknowledged, by ticket */
    this.tickets_ = new Map();
    this.lastTicket_ = 0;
  }

  /** @returns {number} messages that wait for room */
  get size() {
    let size = 0;
    for (const queue of this.waiting_.values()) size += queue.length;
    return size;
  }

  /**
   * @param {number} stage
   * @returns {boolean}
   */
  waits(stage) {
    return (this.waiting_.get(stage)?.length ?? 0) > 0;
  }

  /**
   * @param {number} stage
   * @param {RecordArgs} args
   * @param {Done} done called when the engine has the record, or with `delivery`, when the cloud acknowledged it
   * @param {{ delivery?: boolean }} [options]
   */
  put(stage, args, done, options = {}) {
    const item = { args, ticket: options.delivery ? this.newTicket_() : 0, done };
    const queue = this.waiting_.get(stage);
    if (!queue?.length && this.tryPush_(stage, item)) return;
    // Copied, because other nodes also get the message and may write into its payload while it waits here.
    item.args = { ...args, payload: Buffer.from(args.payload) };
    if (queue && queue.length >= LIMIT) {
      const sentence = `The engine is full: ${LIMIT} messages already wait. Send less, or give the engine more memory.`;
      this.end_(done, failure(CODES.FULL, sentence));
    } else if (queue) {
      queue.push(item);
    } else {
      this.waiting_.set(stage, [item]);
    }
  }

  /** Pushes waiting messages again, and calls `done` of those that the cloud acknowledged. */
  run() {
    for (
      let pairs = this.engine_.takeCompletions();
      pairs.length > 0;
      pairs = this.engine_.takeCompletions()
    ) {
      for (let i = 0; i < pairs.length; i += 2) this.complete_(pairs[i], pairs[i + 1]);
    }
    for (const [stage, queue] of this.waiting_) {
      let taken = 0;
      while (taken < queue.length && this.tryPush_(stage, queue[taken])) taken++;
      queue.splice(0, taken);
      if (queue.length === 0) this.waiting_.delete(stage);
    }
  }

  /**
   * Ends every open message with an error.
   * @param {string} reason a sentence
   * @returns {number} messages that waited and never reached the engine
   */
  close(reason) {
    const left = this.size;
    const open = [...this.waiting_.values()].flat().map(({ done }) => done);
    open.push(...this.tickets_.values());
    this.waiting_.clear();
    this.tickets_.clear();
    for (const done of open) this.end_(done, failure(CODES.CLOSED, reason));
    return left;
  }

  /**
   * @param {number} stage
   * @param {Waiting} item
   * @returns {boolean} false if the message must wait
   */
  tryPush_(stage, { args, ticket, done }) {
    const { deviceId, topic, payload, cls, flags, ts, seq } = args;
    let result;
    try {
      result = this.engine_.push(stage, deviceId, topic, payload, cls, flags, ts, seq, ticket);
    } catch (error) {
      // The engine will never accept this record, but may accept those behind it.
      const sentence = `The record of "${deviceId}" was refused: ${asError(error).message}.`;
      this.end_(done, failure(CODES.REFUSED, sentence));
      return true;
    }
    if (result === FULL || (result === NO_STAGE && this.waitForPlan)) return false;
    if (result === OK && ticket) this.tickets_.set(ticket, done);
    else this.end_(done, result === OK ? undefined : refusal(result));
    return true;
  }

  /**
   * @param {number} ticket
   * @param {number} result of takeCompletions()
   */
  complete_(ticket, result) {
    const done = this.tickets_.get(ticket);
    if (!done) return;
    this.tickets_.delete(ticket);
    this.end_(done, result === OK_COMPLETION ? undefined : incompletion(result));
  }

  /**
   * @param {Done} done
   * @param {Error | undefined} error
   */
  end_(done, error) {
    guard(() => done(error), this.report_);
  }

  /** @returns {number} 1..2^31-1, not in use */
  newTicket_() {
    do this.lastTicket_ = (this.lastTicket_ % 0x7fffffff) + 1;
    while (this.tickets_.has(this.lastTicket_));
    return this.lastTicket_;
  }
}

/** @param {number} result of push() */
function refusal(result) {
  if (result === TOO_LONG)
    return failure(
      CODES.TOO_LONG,
      "The payload is larger than the engine's packet limit. Send less, or raise the limit."
    );
  if (result === ODD_TOPIC) {
    return failure(
      CODES.ODD_TOPIC,
      'The topic or device id begins with $ or contains a control character, which brokers refuse. Change it, or accept such topics in the engine.'
    );
  }
  if (result === NO_ROUTE)
    return failure(CODES.NO_ROUTE, 'Nothing takes the records of this node. Wire it to an uplink node.');
  if (result === CLOSED) return failure(CODES.CLOSED, 'The engine is closed.');
  return failure(CODES.NO_STAGE, 'The node is not part of the running plan. Deploy again.');
}

/** @param {number} result of takeCompletions(), other than success */
function incompletion(result) {
  if (result === WITHHELD) {
    return failure(
      CODES.NO_ROUTE,
      'Nothing takes the record anymore: its uplink node left the flow, or Node-RED is too slow. Send it again.'
    );
  }
  return failure(
    CODES.DROPPED,
    'The cloud refused the record, or it was dropped: see the drops of the stats node.'
  );
}

/**
 * @param {string} code
 * @param {string} sentence
 */
function failure(code, sentence) {
  return Object.assign(new Error(sentence), { code });
}

exports.Inbox = Inbox;
exports.LIMIT = LIMIT;
exports.CODES = CODES;
exports.failure = failure;
