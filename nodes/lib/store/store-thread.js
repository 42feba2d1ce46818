'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { zeroByClass } = require('../base/classes');
const { ManagedThread } = require('../base/managed-thread');
const { checkOptions } = require('./log-options');

/**
 * @typedef {{ node: string, records: number, classes: Record<number, number> }} Holding classes: records by class
 * @typedef {object} StoreState
 * @property {'opening' | 'ready' | 'full' | 'failing' | 'refused' | 'stopped'} state
 * @property {string} code
 * @property {string} reason a sentence with a remedy, '' = no problem
 * @property {number} chunks
 * @property {number[]} records on disk, by class
 * @property {number} bytes size of the chunks, in whole pages
 * @property {number} limitBytes
 * @property {number} fileBytes the database and its WAL
 * @property {number} dead dead letters kept
 * @property {number} deadRemoved dead letters deleted because there was no room
 * @property {number} quarantined chunks in the quarantine
 * @property {number} commits
 * @property {number} commitMs smoothed
 * @property {number} commitMaxMs
 * @property {number} bytesWritten by the thread's write calls, including WAL and checkpoints
 */

/** @typedef {{ failure: string, value?: unknown }} Answer failure: a sentence, '' = there is a value */

const DEFAULT_NATIVE = path.join(__dirname, '../../../native');
/** Time that the thread may take beyond its time-out to finish a commit and close the database. */
const GRACE_MS = 5000;
const IN_SQLITE = { check: checkOptions, parts: path.join(__dirname, 'log-parts.js') };
/** Of the numbers that survive a thread. */
const MEMORY_BYTES = 24;
const COUNTERS = /** @type {const} */ (['commits', 'bytesWritten', 'deadRemoved']);

/**
 * The store thread of one engine, as seen from Node-RED's thread. Records never pass through this object: the store
 * thread pulls them from the engine.
 *
 * Events: 'state' {@link StoreState}, on change and at 1 Hz (each nine seconds while nothing changes); 'problem' {code,
 * reason, count}, at most once a second for a code.
 */
class StoreThread extends EventEmitter {
  /**
   * Throws TypeError or RangeError with a sentence for the user.
   * @param {import('./log-options').StoreOptions} options
   * @param {object} [kind] where the log is kept
   * @param {(options: any, defaultNative: string) => import('./log-options').CheckedOptions} kind.check
   * @param {string} kind.parts module with makeParts(), see log-parts.js
   * @param {object} [kind.data] more workerData
   */
  constructor(options, { check, parts, data } = IN_SQLITE) {
    super();
    this.options = check(options, DEFAULT_NATIVE);
    /** [0]: the last row number, shared with the thread that follows one that died: no number is used twice. */
    this.rows = new SharedArrayBuffer(MEMORY_BYTES);
    /** @type {number | null} */
    this.token = null;
    /** The latest state. @type {StoreState} */
    this.state = {
      state: 'opening',
      code: '',
      reason: '',
      chunks: 0,
      records: zeroByClass(),
      bytes: 0,
      limitBytes: this.options.limitMiB * 2 ** 20,
      fileBytes: 0,
      dead: 0,
      deadRemoved: 0,
      quarantined: 0,
      commits: 0,
      commitMs: 0,
      commitMaxMs: 0,
      bytesWritten: 0
    };
    /** Counters of earlier threads. */
    this.past = { commits: 0, bytesWritten: 0, deadRemoved: 0 };
    /** Callers that wait for holdings(). @type {((holdings: Holding[]) => void)[]} */
    this.asked = [];
    /** Callers of #ask(), by the number of their question. @type {Map<number, (answer: Answer) => void>} */
    this.asking = new Map();
    this.questions = 0;
    /** MQTT sessions of an earlier run that were restored. */
    this.restoredSessions = 0;
    /** @type {(() => void) | undefined} */
    this.endRestoring = undefined;
    /** Resolves when the MQTT sessions of an earlier run are restored. @type {Promise<void> | null} */
    this.restoring = new Promise((resolve) => (this.endRestoring = resolve));
    /** @type {Promise<boolean> | null} */
    this.stopping = null;
    /** @type {boolean | undefined} */
    this.stoppedInTime = undefined;
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'store-worker.js'),
      name: 'seganet-store',
      workerData: () => ({ options: this.options, rows: this.rows, parts, ...data }),
      onStart: () => this.#onStart(),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /**
   * Keeps the log of this engine from now on.
   * @param {number} token Engine.token
   */
  attach(token) {
    this.token = token;
    this.thread.post({ type: 'attach', token });
  }

  /**
   * Returns the number of records on disk by uplink node, or nothing if the database is not open. Never rejects.
   * @returns {Promise<Holding[]>}
   */
  holdings() {
    if (!this.thread.isRunning || this.stopping) return Promise.resolve([]);
    this.thread.post({ type: 'holdings' });
    return new Promise((resolve) => this.asked.push(resolve));
  }

  /**
   * Copies the log into a new file while it is in use. The copy has every record that was reported as stored before
   * this call.
   * @param {string} file absolute; must not exist
   * @returns {Promise<void>} rejects if the log cannot be read, or the file cannot be written
   */
  async backup(file) {
    await this.#ask('backup', { file });
  }

  /**
   * Returns a page of dead letters, the oldest first.
   * @param {{ after: number, limit: number }} page after: row; limit: 1 to 50
   * @returns {Promise<{ letters: import('./dead-letters').Letter[], next: number | null }>} rejects with a sentence if
   *   the log cannot be read
   */
  deadLetters(page) {
    return this.#ask('deadLetters', { page });
  }

  /**
   * Sends dead letters again.
   * @param {number[] | null} rows null = all
   * @param {string[]} nodes uplink nodes of the flow; the dead letters of others stay
   * @returns {Promise<import('./dead-letters').Outcome & { failure: string }>} rejects if the log is not open
   */
  sendAgain(rows, nodes) {
    return this.#ask('sendAgain', { rows, nodes });
  }

  /**
   * @param {string} what
   * @param {object} message
   * @returns {Promise<any>} rejects with a sentence
   */
  async #ask(what, message) {
    if (!this.thread.isRunning || this.stopping) throw new Error('The log is not open.');
    const id = ++this.questions;
    this.thread.post({ type: 'ask', id, what, ...message });
    const { failure, value } = await new Promise((resolve) => this.asking.set(id, resolve));
    if (failure) throw new Error(failure);
    return value;
  }

  /**
   * Commits pending records (Engine.saveAll() makes all of them pending) and pending deletions, closes the database and
   * ends the thread.
   * @param {number} timeoutMs longest time for the commits
   * @returns {Promise<boolean>} true when nothing was left to commit
   */
  stop(timeoutMs) {
    this.stopping ??= this.#stop(timeoutMs);
    return this.stopping;
  }

  #onStart() {
    if (this.token !== null) this.thread.post({ type: 'attach', token: this.token });
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'state') {
      for (const name of COUNTERS) message[name] += this.past[name];
      if (message.state === 'ready') this.thread.markHealthy();
      this.#update(message);
    } else if (type === 'sessions') this.#restored(message.restored);
    else if (type === 'problem') this.emit('problem', message);
    else if (type === 'holdings') this.asked.shift()?.(message.holdings);
    else if (type === 'answer') this.#answer(message.id, message);
    else if (type === 'stopped') this.stoppedInTime = message.inTime;
    else this.emit(type, message);
  }

  /** @param {number} sessions */
  #restored(sessions) {
    this.restoring = null;
    this.restoredSessions += sessions;
    this.endRestoring?.();
  }

  /** @param {number} id @param {Answer} answer */
  #answer(id, answer) {
    this.asking.get(id)?.(answer);
    this.asking.delete(id);
  }

  /** @param {StoreState} state */
  #update(state) {
    this.state = state;
    this.emit('state', state);
  }

  /**
   * Keeps the counters of the thread that ended. The engine gives what it had not committed to the next thread.
   * @param {string} cause
   * @param {number} restartMs
   */
  #onExit(cause, restartMs) {
    for (const resolve of this.asked.splice(0)) resolve([]);
    for (const id of [...this.asking.keys()]) this.#answer(id, { failure: 'The thread of the log ended.' });
    for (const name of COUNTERS) this.past[name] = this.state[name];
    if (this.stopping) return;
    const reason = `The thread of the log ended unexpectedly (${cause}). It restarts in ${restartMs} ms.`;
    this.#update({ ...this.state, state: 'failing', code: 'THREAD', reason });
  }

  /** @param {number} timeoutMs */
  async #stop(timeoutMs) {
    const wasRunning = await this.thread.stop({ type: 'stop', timeoutMs }, timeoutMs + GRACE_MS);
    // A terminated thread did not report its end.
    if (this.state.state !== 'stopped')
      this.#update({ ...this.state, state: 'stopped', code: '', reason: '' });
    return this.stoppedInTime ?? !wasRunning;
  }
}

exports.StoreThread = StoreThread;
