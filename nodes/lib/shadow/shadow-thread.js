'use strict';
// The threads with the shadows of one engine, as seen from Node-RED's thread: one changes them, one reads them. Reads
// are answered while a commit is under way. What the reading thread cannot read, the other one reads.
//
// No answer shows less than an earlier one: a read is repeated if a change of the device was answered meanwhile, and
// the answer to a change is marked if a read has shown this change, or a later one, already.

const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
const { Gate } = require('./gate');
const { Overlaps, isOvertaken, mayBeOld, renew } = require('./overlaps');
const { Refusal } = require('./refusal');

/** Requests that may wait for the thread, and the characters of their documents. */
const MAX_WAITING = 20000;
const MAX_WAITING_TEXT = 64 << 20;
const STOP_MS = 10000;

/**
 * @typedef {import('./shadow-desk').Op} Op
 * @typedef {import('./shadow-desk').Result} Result
 *
 * @typedef {object} State
 * @property {string} reason why nothing is stored, '' = it is
 * @property {number} shadows
 * @property {number} deleted shadows whose version is kept
 * @property {number} bytes of the file
 * @property {Record<string, number>} counters
 *
 * @typedef {object} Open a request
 * @property {(result: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {number} text characters
 * @property {Op | null} op null = a list
 * @property {import('./overlaps').Span | null} span
 */

const isRead = (/** @type {Pick<Op, 'kind'>} */ { kind }) => kind === 'get' || kind === 'delta';

class ShadowThread {
  #lastId = 0;
  /** @type {Map<number, Open>} */
  #open = new Map();
  #overlaps = new Overlaps();
  #text = 0;
  /** @type {Op[]} */
  #next = [];
  #isStopping = false;
  /** Counters of threads that ended. @type {Record<string, number>} */
  #past = {};
  /** Those of the threads that run. @type {{ changes: Record<string, number>, reads: Record<string, number> }} */
  #counters = { changes: {}, reads: {} };
  #onState;
  #warn;
  #reopened;
  #wasOpen = false;
  /** @type {State} */
  state = { reason: '', shadows: 0, deleted: 0, bytes: 0, counters: {} };

  /**
   * @param {string} directory of the file
   * @param {(state: State) => void} onState called once a second, too
   * @param {(sentence: string) => void} [warn]
   * @param {() => void} [reopened] called when the file was opened again after a failure: changes that were refused
   *   then may be on disk
   */
  constructor(directory, onState, warn = () => {}, reopened = () => {}) {
    this.#reopened = reopened;
    this.#onState = onState;
    this.#warn = warn;
    const workerData = { directory, gate: Gate.places() };
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'shadow-worker.js'),
      name: 'seganet-shadow',
      workerData: () => workerData,
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.reader = new ManagedThread({
      file: path.join(__dirname, 'shadow-reader.js'),
      name: 'shadow-reader',
      workerData: () => workerData,
      onMessage: (message) => this.#onRead(message),
      onExit: (cause) => this.#onReaderExit(cause),
      restarts: true
    });
    this.thread.start();
    this.reader.start();
  }

  /**
   * @param {Omit<Op, 'id'>} op
   * @returns {Promise<Result>} also for one that is refused
   */
  ask(op) {
    return this.#enter(op.text.length, (id, open) => {
      open.op = { ...op, id };
      open.span = this.#overlaps.enter(op.device, isRead(op));
      this.#queue(open.op);
    });
  }

  /**
   * @param {string} after
   * @param {number} limit
   * @returns {Promise<string>} JSON
   */
  list(after, limit) {
    return this.#enter(0, (id) => this.thread.post({ type: 'list', id, after, limit }));
  }

  /** Stores what waits, closes the file and ends the thread. */
  async stop() {
    this.#post();
    this.#isStopping = true;
    // The last connection moves the WAL into the database, which one that only reads cannot.
    await this.reader.stop({ type: 'stop' }, STOP_MS);
    this.#post();
    await this.thread.stop({ type: 'stop' }, STOP_MS);
    this.#rejectAll('The engine stopped.');
  }

  /**
   * @param {number} text characters
   * @param {(id: number, open: Open) => void} post
   * @returns {Promise<any>}
   */
  #enter(text, post) {
    if (this.#isStopping) return Promise.reject(new Refusal(503, 'The engine stopped.'));
    if (!this.thread.isRunning)
      return Promise.reject(new Refusal(503, this.state.reason || 'The thread of the shadows is starting.'));
    if (this.#open.size >= MAX_WAITING || this.#text + text > MAX_WAITING_TEXT)
      return Promise.reject(
        new Refusal(503, 'Too many requests wait for the disk of the shadows. Ask again.')
      );
    const id = ++this.#lastId;
    this.#text += text;
    return new Promise((resolve, reject) => {
      /** @type {Open} */
      const open = { resolve, reject, text, op: null, span: null };
      this.#open.set(id, open);
      post(id, open);
    });
  }

  /** @param {Op} op */
  #queue(op) {
    if (this.#next.length === 0) setImmediate(() => this.#post());
    this.#next.push(op);
  }

  #post() {
    const reads = this.#next.filter(isRead);
    const changes = this.#next.filter((op) => !isRead(op));
    this.#next = [];
    if (changes.length > 0) this.thread.post({ type: 'ops', ops: changes });
    const reader = this.reader.isRunning && !this.#isStopping ? this.reader : this.thread;
    if (reads.length > 0) reader.post({ type: 'ops', ops: reads });
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'results') for (const result of message.results) this.#answer(result);
    else if (type === 'listed') {
      const { id, text, status, message: why } = message;
      const asked = this.#close(id);
      if (status === 200) asked?.resolve(text);
      else asked?.reject(new Refusal(status, why));
    } else if (type === 'opened') {
      if (this.#wasOpen) this.#reopened();
      this.#wasOpen = true;
    } else if (type === 'state') {
      this.#counters.changes = message.counters;
      const { changes, reads } = this.#counters;
      this.state = { ...message, counters: sum(this.#past, changes, reads) };
      if (!this.state.reason) this.thread.markHealthy();
      this.#onState(this.state);
    }
  }

  /** @param {{ results: Result[], unread: number[], counters: Record<string, number> }} message */
  #onRead({ results, unread, counters }) {
    this.reader.markHealthy();
    this.#counters.reads = counters;
    for (const result of results) this.#answer(result);
    this.#readOtherwise(unread);
  }

  /** @param {Result} result */
  #answer(result) {
    const { op, span } = this.#open.get(result.id) ?? {};
    if (!op || !span) return;
    if (span.isRead && mayBeOld(span)) {
      renew(span);
      return this.#queue(op);
    }
    const isLate = !span.isRead && isOvertaken(span, result.version);
    this.#close(op.id, result.version)?.resolve(isLate ? { ...result, isOvertaken: true } : result);
  }

  /** Has the other thread read what the reading thread cannot. @param {Iterable<number>} ids */
  #readOtherwise(ids) {
    const ops = [...ids].map((id) => this.#open.get(id)?.op).filter((op) => op && isRead(op));
    if (ops.length > 0) this.thread.post({ type: 'ops', ops });
  }

  /** @param {number} id @param {number} [version] of the answer */
  #close(id, version = 0) {
    const asked = this.#open.get(id);
    if (!asked) return undefined;
    this.#open.delete(id);
    this.#text -= asked.text;
    if (asked.span) this.#overlaps.leave(asked.span, version);
    return asked;
  }

  /** @param {string} cause */
  #onReaderExit(cause) {
    this.#past = sum(this.#past, this.#counters.reads);
    this.#counters.reads = {};
    if (this.#isStopping) return;
    this.#warn(
      `The thread that reads shadows ended unexpectedly (${cause}). Until it runs again, reads wait for the disk.`
    );
    this.#readOtherwise(this.#open.keys());
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    this.#next = [];
    const reason = `The thread of the shadows ended unexpectedly (${cause}).`;
    this.#rejectAll(reason);
    this.#past = sum(this.#past, this.#counters.changes);
    this.#counters.changes = {};
    if (this.#isStopping) return;
    this.state = { ...this.state, reason: `${reason} It restarts in ${restartMs} ms.` };
    this.#onState(this.state);
  }

  /** @param {string} reason */
  #rejectAll(reason) {
    for (const id of [...this.#open.keys()]) this.#close(id)?.reject(new Refusal(503, reason));
  }
}

/** @param {Record<string, number>[]} all */
function sum(...all) {
  /** @type {Record<string, number>} */
  const total = {};
  for (const counters of all)
    for (const [name, count] of Object.entries(counters)) total[name] = (total[name] ?? 0) + count;
  return total;
}

exports.ShadowThread = ShadowThread;
