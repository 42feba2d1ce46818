'use strict';
// A kafka source as seen from Node-RED's thread. Its thread reads the topics. Each record is acknowledged to the thread
// when it is safe, and the thread commits its offset.

const path = require('node:path');
const { ManagedThread } = require('../../base/managed-thread');
const { CODES } = require('../../engine/inbox');
const { toRecordArgs } = require('./message-record');

/**
 * @typedef {object} SourceHandlers
 * @property {(args: import('../../base/record').RecordArgs, done: import('../../engine/inbox').Done, options: { delivery: boolean }) => void}
 *   put
 * @property {(sentence: string) => void} warn
 */

const STOP_MS = 3000;
/** Time that the thread may take beyond its time-out to leave the group. */
const GRACE_MS = 6000;
const WARN_EVERY_MS = 60000;
/** Errors after which the record is given up: the engine would refuse it again, or it is a dead letter. */
const FINAL = /** @type {string[]} */ ([CODES.TOO_LONG, CODES.ODD_TOPIC, CODES.REFUSED, CODES.DROPPED]);

class KafkaSource {
  #options;
  #handlers;
  #reading;
  #thread;
  /** Ids of records that are safe, for the next message to the thread. @type {number[]} */
  #safe;
  /** Increases when the thread reads again: records of before do not count. */
  #round;
  #isEnding;
  #isHeld;
  /** @type {Map<string, number>} time of the last warning, by kind */
  #warnedAt;

  /**
   * @param {import('./kafka-source-options').SourceOptions} options
   * @param {import('./message-record').ReadingOptions} reading
   * @param {SourceHandlers} handlers
   */
  constructor(options, reading, handlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#reading = reading;
    this.#safe = [];
    this.#round = 0;
    this.#isEnding = false;
    this.#isHeld = false;
    this.#warnedAt = new Map();
    this.counters = { received: 0, safe: 0, refused: 0, tooLarge: 0, dropped: 0 };
    /** @type {import('../uplink/client-life').State} */
    this.state = 'stopped';
    /** @type {{ code: string, reason: string } | null} */
    this.why = null;
    this.waits = false;
    /** Of the thread's consumer. @type {import('./consuming').ConsumerFigures | null} */
    this.consumer = null;
    this.#thread = new ManagedThread({
      file: path.join(__dirname, 'source-worker.js'),
      name: 'seganet-kafka-in',
      workerData: () => ({ options }),
      onStart: () => this.#thread.post({ type: 'hold', isHeld: this.#isHeld }),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
  }

  start() {
    this.state = 'connecting';
    this.#thread.start();
  }

  /** Pauses reading while the records have no destination. @param {boolean} isHeld */
  hold(isHeld) {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#thread.post({ type: 'hold', isHeld });
  }

  /** Stops reading, commits what is safe while there is time, and leaves the group. */
  async stop() {
    this.#isEnding = true;
    await this.#thread.stop({ type: 'stop', timeoutMs: STOP_MS }, STOP_MS + GRACE_MS);
    this.state = 'stopped';
  }

  /** @param {any} message */
  #onMessage(message) {
    if (message.type === 'records') for (const record of message.records) this.#onRecord(record);
    else if (message.type === 'state') this.#onState(message);
    else if (message.type === 'stopped') this.#thread.terminate();
  }

  /** Returns what the metrics and the live view show. */
  figures() {
    const { state, why, waits, counters, consumer } = this;
    const { group, topics } = this.#options;
    return {
      state,
      code: why?.code ?? '',
      reason: why?.reason ?? '',
      waits,
      group,
      topics,
      counters,
      consumer
    };
  }

  /**
   * @param {{ state: import('../uplink/client-life').State, code: string, reason: string, waits: boolean,
   *   consumer: import('./consuming').ConsumerFigures }} state
   */
  #onState({ state, code, reason, waits, consumer }) {
    this.consumer = consumer;
    if (state === 'connected') this.#thread.markHealthy();
    this.state = state;
    this.waits = waits;
    this.why = code ? { code, reason } : null;
    if (reason && (state === 'refused' || state === 'disconnected')) this.#tell(code, reason);
  }

  /** @param {import('./message-record').Message} message */
  #onRecord(message) {
    const { counters } = this;
    const { id } = message;
    const round = this.#round;
    counters.received++;
    let args;
    try {
      args = toRecordArgs(message, this.#reading);
    } catch (error) {
      counters.refused++;
      this.#tell('refused', `${/** @type {Error} */ (error).message} The record is dropped.`);
      return this.#settle(id);
    }
    this.#handlers.put(args, (error) => this.#onDone(id, round, error), { delivery: true });
  }

  /** @param {number} id @param {number} round @param {(Error & { code?: string }) | undefined} error */
  #onDone(id, round, error) {
    if (round !== this.#round) return;
    const { counters } = this;
    if (!error) {
      counters.safe++;
      return this.#settle(id);
    }
    const { code = '' } = error;
    if (code === CODES.TOO_LONG) counters.tooLarge++;
    else if (code === CODES.REFUSED) counters.refused++;
    else counters.dropped++;
    this.#tell(code, error.message);
    if (FINAL.includes(code)) return this.#settle(id);
    if (this.#isEnding) return;
    // The record never reached the engine: it is read again.
    this.#round++;
    this.#safe = [];
    this.#thread.post({ type: 'again' });
  }

  /** Reports records that became safe in one turn with one message. @param {number} id */
  #settle(id) {
    this.#safe.push(id);
    if (this.#safe.length > 1) return;
    setImmediate(() => {
      const ids = this.#safe.splice(0);
      if (ids.length > 0) this.#thread.post({ type: 'done', ids });
    });
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    this.#round++;
    this.#safe = [];
    this.consumer = null;
    if (this.#isEnding) return;
    this.state = 'disconnected';
    this.why = { code: 'THREAD', reason: `The thread of the source ended unexpectedly (${cause}).` };
    this.#tell('THREAD', `${this.why.reason} It restarts in ${restartMs} ms.`);
  }

  /** @param {string} kind @param {string} sentence at most once a minute for each kind */
  #tell(kind, sentence) {
    const now = performance.now();
    if (now - (this.#warnedAt.get(kind) ?? -Infinity) < WARN_EVERY_MS) return;
    this.#warnedAt.set(kind, now);
    this.#handlers.warn(sentence);
  }
}

exports.KafkaSource = KafkaSource;
