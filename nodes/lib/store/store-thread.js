'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { zeroByClass } = require('../base/classes');
const { Backoff } = require('../base/backoff');
const { checkOptions } = require('./log-options');

/**
 * @typedef {object} StoreState
 * @property {'opening' | 'ready' | 'full' | 'failing' | 'refused' | 'stopped'} state
 * @property {string} code @property {string} reason a sentence with a remedy, '' = all is well
 * @property {number} chunks @property {number[]} records on disk, by class
 * @property {number} bytes what the chunks take, in whole pages @property {number} limitBytes
 * @property {number} fileBytes the database and its WAL
 * @property {number} dead dead letters kept @property {number} deadRemoved and those deleted for want of room
 * @property {number} quarantined chunks in the quarantine
 * @property {number} commits @property {number} commitMs smoothed @property {number} commitMaxMs
 * @property {number} bytesWritten by the thread's write calls: WAL and checkpoints included
 */

const DEFAULT_NATIVE = path.join(__dirname, '../../../native');
const RESTART_MIN_MS = 250;
const RESTART_MAX_MS = 30000;
/** What the thread may take, beyond its time-out, for a commit under way and to close the database. */
const GRACE_MS = 5000;
const COUNTERS = /** @type {const} */ (['commits', 'bytesWritten', 'deadRemoved']);

/**
 * The store thread of one engine, seen from Node-RED's thread. Records never come here: the thread pulls them from the engine.
 *
 * Events: 'state' {@link StoreState}, on change and at 1 Hz; 'problem' {code, reason, count}, at most once a second for a code.
 */
class StoreThread extends EventEmitter {
  /** Throws TypeError with a sentence for the user. @param {import('./log-options').StoreOptions} options */
  constructor(options) {
    super();
    this.options = checkOptions(options, DEFAULT_NATIVE);
    this.backoff = new Backoff(RESTART_MIN_MS, RESTART_MAX_MS);
    /** Row numbers are not used twice, also not by the thread that follows one that died. */
    this.rows = new SharedArrayBuffer(8);
    /** @type {number | null} */
    this.token = null;
    /** The latest. @type {StoreState} */
    this.state = {
      ...{ state: 'opening', code: '', reason: '', chunks: 0, records: zeroByClass(), bytes: 0 },
      ...{
        limitBytes: this.options.limitMiB * 2 ** 20,
        fileBytes: 0,
        dead: 0,
        deadRemoved: 0,
        quarantined: 0
      },
      ...{ commits: 0, commitMs: 0, commitMaxMs: 0, bytesWritten: 0 }
    };
    /** Counters of threads that are gone. */
    this.past = { commits: 0, bytesWritten: 0, deadRemoved: 0 };
    /** Those who wait for holdings(). @type {((holdings: { node: string, records: number }[]) => void)[]} */
    this.asked = [];
    /** @type {Promise<boolean> | null} */
    this.stopping = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.restartTimer = undefined;
    /** @type {Worker | null} */
    this.worker = null;
    /** @type {boolean | undefined} */
    this.stoppedInTime = undefined;
    this.#start();
  }

  /** Keeps the log of this engine from now on. @param {number} token Engine.token */
  attach(token) {
    this.token = token;
    this.worker?.postMessage({ type: 'attach', token });
  }

  /**
   * What is on disk, by uplink node; empty when the database is not open. Never rejects.
   * @returns {Promise<{ node: string, records: number }[]>}
   */
  holdings() {
    if (!this.worker || this.stopping) return Promise.resolve([]);
    this.worker.postMessage({ type: 'holdings' });
    return new Promise((resolve) => this.asked.push(resolve));
  }

  /**
   * Commits what is due (Engine.saveAll() makes all of it due) and what is to be deleted, at most so long; closes the
   * database and ends the thread.
   * @param {number} timeoutMs @returns {Promise<boolean>} true when nothing was left to commit
   */
  stop(timeoutMs) {
    this.stopping ??= this.#stop(timeoutMs);
    return this.stopping;
  }

  #start() {
    const worker = new Worker(path.join(__dirname, 'store-worker.js'), {
      workerData: { options: this.options, rows: this.rows },
      name: 'seganet-store'
    });
    this.worker = worker;
    let cause = '';
    worker.on('message', (message) => this.#onMessage(message));
    worker.on('error', (error) => (cause = String(error?.message ?? error)));
    worker.on('exit', (code) => this.#onExit(worker, cause || `exit code ${code}`));
    if (this.token !== null) worker.postMessage({ type: 'attach', token: this.token });
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'state') {
      for (const name of COUNTERS) message[name] += this.past[name];
      if (message.state === 'ready') this.backoff.reset();
      this.#tell(message);
    } else if (type === 'problem') this.emit('problem', message);
    else if (type === 'holdings') this.asked.shift()?.(message.holdings);
    else if (type === 'stopped') this.stoppedInTime = message.inTime;
  }

  /** @param {StoreState} state */
  #tell(state) {
    this.state = state;
    this.emit('state', state);
  }

  /** The thread died. What it had not committed, the engine gives to the next one. @param {Worker} worker @param {string} cause */
  #onExit(worker, cause) {
    for (const resolve of this.asked.splice(0)) resolve([]);
    if (this.worker !== worker) return;
    this.worker = null;
    for (const name of COUNTERS) this.past[name] = this.state[name];
    if (this.stopping) return;
    const wait = this.backoff.next();
    this.restartTimer = setTimeout(() => this.#start(), wait);
    const reason = `The thread of the log ended unexpectedly (${cause}). It restarts in ${wait} ms.`;
    this.#tell({ ...this.state, state: 'failing', code: 'THREAD', reason });
  }

  /** @param {number} timeoutMs */
  async #stop(timeoutMs) {
    clearTimeout(this.restartTimer);
    const { worker } = this;
    if (worker) {
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage({ type: 'stop', timeoutMs });
      const timer = setTimeout(() => worker.terminate(), timeoutMs + GRACE_MS);
      await exited;
      clearTimeout(timer);
    }
    this.worker = null;
    // A thread that had to be terminated could not say it.
    if (this.state.state !== 'stopped') this.#tell({ ...this.state, state: 'stopped', code: '', reason: '' });
    return this.stoppedInTime ?? !worker;
  }
}

exports.StoreThread = StoreThread;
