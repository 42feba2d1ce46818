'use strict';
// Passes messages to the engine. Those that the engine cannot accept yet wait here, in order, up to a limit for each
// node. `done` of a message is called exactly once.

const { asError, guard } = require('../base/guard');

const LIMIT = 1000;
/**
 * The same for messages whose devices wait for the delivery, and while plans change. The engine limits the number of
 * the former (kMostDeferred), and devices would send a refused record again at once.
 */
const DEFERRED_LIMIT = 10000;

/**
 * @typedef {import('../base/record').RecordArgs} RecordArgs
 * @typedef {(error?: Error) => void} Done
 * @typedef {object} Waiting
 * @property {RecordArgs} args
 * @property {number} ticket
 * @property {Done} done
 * @property {number} safeTicket
 * @property {Done | null} safe
 *
 * @typedef {object} PutOptions
 * @property {boolean} [delivery] true: `done` is called when the record is safe (source, ingest), or when the cloud has
 *   acknowledged it (uplink)
 * @property {Done | null} [safe] called, in addition to `done`, when the record is safe, and delivered by the flows
 *   that get its messages
 * @property {boolean} [early] true: enters although the stage is held
 *
 * @typedef {object} Pushes the part of the native Engine used here
 * @property {(stage: number, deviceId: string, topic: string, payload: Uint8Array, cls: number,
 *   flags: number, ts: number, seq: number, ticket: number, deferral?: number, trace?: string) => number} push
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
/** Result of a completion: the flow that got the record's message did not deliver it. */
const NOT_DELIVERED = 3;
/** Result of a completion: the device id names no part of a split stage, such as a tenant. */
const NO_PART = 4;
/** Result of a completion: the part of the device is above its rate or waiting bytes. */
const PART_FULL = 5;

/** Codes of the errors with which `done` is called. Callers map them to the answer for a device. */
const CODES = /** @type {const} */ ({
  FULL: 'SEGANET_FULL',
  TOO_LONG: 'SEGANET_TOO_LONG',
  CLOSED: 'SEGANET_CLOSED',
  NO_STAGE: 'SEGANET_NO_STAGE',
  /** The records of the node have no destination. */
  NO_ROUTE: 'SEGANET_NO_ROUTE',
  /** The device belongs to no part (tenant) that the flow has. */
  NO_PART: 'SEGANET_NO_PART',
  /** The part (tenant) of the device is above its limits. */
  PART_FULL: 'SEGANET_PART_FULL',
  /** The record lost its destination after the engine had accepted it. */
  WITHHELD: 'SEGANET_WITHHELD',
  ODD_TOPIC: 'SEGANET_ODD_TOPIC',
  REFUSED: 'SEGANET_REFUSED',
  DROPPED: 'SEGANET_DROPPED',
  /** Another gateway of the pair takes records. */
  STANDBY: 'SEGANET_STANDBY',
  NOT_DELIVERED: 'SEGANET_NOT_DELIVERED'
});

class Inbox {
  #engine;
  #report;
  /** @type {Map<number, Waiting[]>} by line: the stage, or minus the stage for early records */
  #waiting;
  /** @type {Map<number, Done>} pushes to an uplink that the cloud has not acknowledged, by ticket */
  #tickets;
  #lastTicket;

  /**
   * @param {Pushes} engine
   * @param {(error: Error) => void} report gets an error that a `done` throws; the other records continue
   */
  constructor(engine, report) {
    this.#engine = engine;
    this.#report = report;
    /** True before the first plan and between two plans. Records wait, because their stage may not exist yet. */
    this.waitForPlan = true;
    /** True while another gateway has the log of the pair: records would wait until that one is lost. */
    this.isStandby = () => false;
    /** True for a stage whose records wait while plans change. @type {(stage: number) => boolean} */
    this.holds = () => false;
    this.#waiting = new Map();
    this.#tickets = new Map();
    this.#lastTicket = 0;
  }

  /** @returns {number} messages that wait for room */
  get size() {
    let size = 0;
    for (const queue of this.#waiting.values()) size += queue.length;
    return size;
  }

  /**
   * @param {number} stage
   * @returns {boolean}
   */
  waits(stage) {
    return (this.#waiting.get(stage)?.length ?? 0) > 0;
  }

  /** True while records wait that enter although their stage is held, or whose stage is not held. */
  get isBusy() {
    return [...this.#waiting].some(([line, { length }]) => length > 0 && (line < 0 || !this.holds(line)));
  }

  /**
   * @param {number} stage
   * @param {RecordArgs} args
   * @param {Done} done called when the engine has the record, or see `delivery`
   * @param {PutOptions} [options]
   */
  put(stage, args, done, { delivery = false, safe = null, early = false } = {}) {
    const ticket = delivery ? this.#newTicket() : 0;
    const item = { args, ticket, done, safeTicket: safe ? this.#newTicket(ticket) : 0, safe };
    const line = early ? -stage : stage;
    const queue = this.#waiting.get(line);
    if (this.isStandby()) {
      const sentence = 'This gateway is a standby. Send the message to the active one of the pair.';
      return this.#fail(item, failure(CODES.STANDBY, sentence));
    }
    if (!queue?.length && this.#tryPush(line, item)) return;
    // Copied, because other nodes also get the message and may write into its payload while it waits here.
    item.args = { ...args, payload: Buffer.from(args.payload) };
    const limit = safe || this.holds(stage) ? DEFERRED_LIMIT : LIMIT;
    if (queue && queue.length >= limit) {
      const sentence = `The engine is full: ${limit} messages already wait. Send less, or give the engine more memory.`;
      this.#fail(item, failure(CODES.FULL, sentence));
    } else if (queue) {
      queue.push(item);
    } else {
      this.#waiting.set(line, [item]);
    }
  }

  /** Pushes waiting messages again, and calls `done` of those that the cloud acknowledged. */
  run() {
    for (
      let pairs = this.#engine.takeCompletions();
      pairs.length > 0;
      pairs = this.#engine.takeCompletions()
    ) {
      for (let i = 0; i < pairs.length; i += 2) this.#complete(pairs[i], pairs[i + 1]);
    }
    for (const [line, queue] of this.#waiting) {
      let taken = 0;
      while (taken < queue.length && this.#tryPush(line, queue[taken])) taken++;
      queue.splice(0, taken);
      if (queue.length === 0) this.#waiting.delete(line);
    }
  }

  /**
   * Ends every open message with an error.
   * @param {string} reason a sentence
   * @returns {number} messages that waited and never reached the engine
   */
  close(reason) {
    const left = this.size;
    const open = [...this.#waiting.values()]
      .flat()
      .flatMap(({ done, safe }) => (safe ? [safe, done] : [done]));
    open.push(...this.#tickets.values());
    this.#waiting.clear();
    this.#tickets.clear();
    for (const done of open) this.#end(done, failure(CODES.CLOSED, reason));
    return left;
  }

  /**
   * @param {number} line
   * @param {Waiting} item
   * @returns {boolean} false if the message must wait
   */
  #tryPush(line, item) {
    const stage = Math.abs(line);
    if (line > 0 && this.holds(stage)) return false;
    const { args, ticket, done, safeTicket, safe } = item;
    const { deviceId, topic, payload, cls, flags, ts, seq, trace = '' } = args;
    let result;
    try {
      result = this.#engine.push(
        stage,
        deviceId,
        topic,
        payload,
        cls,
        flags,
        ts,
        seq,
        ticket,
        safeTicket,
        trace
      );
    } catch (error) {
      // The engine will never accept this record, but may accept those behind it.
      const sentence = `The record of "${deviceId}" was refused: ${asError(error).message}.`;
      this.#fail(item, failure(CODES.REFUSED, sentence));
      return true;
    }
    if (result === FULL || (result === NO_STAGE && this.waitForPlan)) return false;
    if (result !== OK) {
      this.#fail(item, refusal(result));
      return true;
    }
    if (safe) this.#tickets.set(safeTicket, safe);
    if (ticket) this.#tickets.set(ticket, done);
    else this.#end(done, undefined);
    return true;
  }

  /**
   * @param {number} ticket
   * @param {number} result of takeCompletions()
   */
  #complete(ticket, result) {
    const done = this.#tickets.get(ticket);
    if (!done) return;
    this.#tickets.delete(ticket);
    this.#end(done, result === OK_COMPLETION ? undefined : incompletion(result));
  }

  /**
   * Ends a record that did not reach the engine.
   * @param {Waiting} item
   * @param {Error} error
   */
  #fail({ done, safe }, error) {
    if (safe) this.#end(safe, error);
    this.#end(done, error);
  }

  /**
   * @param {Done} done
   * @param {Error | undefined} error
   */
  #end(done, error) {
    guard(() => done(error), this.#report);
  }

  /** @param {number} [other] @returns {number} 1..2^31-1, not in use, not `other` */
  #newTicket(other = 0) {
    do this.#lastTicket = (this.#lastTicket % 0x7fffffff) + 1;
    while (this.#lastTicket === other || this.#tickets.has(this.#lastTicket));
    return this.#lastTicket;
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
      CODES.WITHHELD,
      'Nothing takes the record anymore: its uplink node left the flow, or Node-RED is too slow. Send it again.'
    );
  }
  if (result === NOT_DELIVERED) {
    return failure(
      CODES.NOT_DELIVERED,
      'The flow did not deliver the record in time, or one of its nodes failed. Send it again.'
    );
  }
  if (result === NO_PART) return failure(CODES.NO_PART, 'The device belongs to no tenant of the flow.');
  if (result === PART_FULL) {
    return failure(
      CODES.PART_FULL,
      'The tenant of the device is above its rate or its waiting bytes. Send the record again later.'
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
exports.DEFERRED_LIMIT = DEFERRED_LIMIT;
exports.CODES = CODES;
exports.failure = failure;
