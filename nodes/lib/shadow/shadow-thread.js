'use strict';
// The thread with the shadows of one engine, as seen from Node-RED's thread.

const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
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
 */

class ShadowThread {
  #lastId = 0;
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void, text: number }>} */
  #open = new Map();
  #text = 0;
  /** @type {Op[]} */
  #next = [];
  #isStopping = false;
  /** Counters of threads that ended. @type {Record<string, number>} */
  #past = {};
  #onState;
  /** @type {State} */
  state = { reason: '', shadows: 0, deleted: 0, bytes: 0, counters: {} };

  /** @param {string} directory of the file @param {(state: State) => void} onState called once a second, too */
  constructor(directory, onState) {
    this.#onState = onState;
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'shadow-worker.js'),
      name: 'seganet-shadow',
      workerData: () => ({ directory }),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /**
   * @param {Omit<Op, 'id'>} op
   * @returns {Promise<Result>} also for one that is refused
   */
  ask(op) {
    return this.#enter(op.text.length, (id) => {
      if (this.#next.length === 0) setImmediate(() => this.#post());
      this.#next.push({ ...op, id });
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
    await this.thread.stop({ type: 'stop' }, STOP_MS);
    this.#rejectAll('The engine stopped.');
  }

  /** @param {number} text characters @param {(id: number) => void} post @returns {Promise<any>} */
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
      this.#open.set(id, { resolve, reject, text });
      post(id);
    });
  }

  #post() {
    const ops = this.#next;
    this.#next = [];
    if (ops.length > 0) this.thread.post({ type: 'ops', ops });
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'results') for (const result of message.results) this.#close(result.id)?.resolve(result);
    else if (type === 'listed') {
      const { id, text, status, message: why } = message;
      const asked = this.#close(id);
      if (status === 200) asked?.resolve(text);
      else asked?.reject(new Refusal(status, why));
    } else if (type === 'state') {
      for (const [name, count] of Object.entries(this.#past)) message.counters[name] += count;
      this.state = message;
      if (!message.reason) this.thread.markHealthy();
      this.#onState(this.state);
    }
  }

  /** @param {number} id */
  #close(id) {
    const asked = this.#open.get(id);
    this.#open.delete(id);
    this.#text -= asked?.text ?? 0;
    return asked;
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    this.#next = [];
    const reason = `The thread of the shadows ended unexpectedly (${cause}).`;
    this.#rejectAll(reason);
    this.#past = this.state.counters;
    if (this.#isStopping) return;
    this.state = { ...this.state, reason: `${reason} It restarts in ${restartMs} ms.` };
    this.#onState(this.state);
  }

  /** @param {string} reason */
  #rejectAll(reason) {
    for (const id of [...this.#open.keys()]) this.#close(id)?.reject(new Refusal(503, reason));
  }
}

exports.ShadowThread = ShadowThread;
