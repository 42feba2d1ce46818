'use strict';

const { Worker } = require('node:worker_threads');

const WATCH_MS = 50;

/**
 * @typedef {object} Limits
 * @property {number} workMs of one job, after the thread has said that it begins
 * @property {number} loadMs of the thread's start, and of what it reads before it begins
 * @property {number} memoryBytes growth of the process during a job
 * @property {number} waiting jobs
 * @property {number} idleMs after which the thread ends
 *
 * @typedef {'closed' | 'waiting' | 'ending' | 'load' | 'work' | 'memory' | 'crash'} Why 'ending': the job before has
 *   not ended yet, although its time was over
 *
 * @typedef {object} Parts
 * @property {string} file the module that the thread runs. In: {type: 'ask', id, what, input}. Out:
 *   {type: 'begin', id}, then {type: 'answer', id, value | failure, isBroken}; isBroken: the thread must not be used
 *   again
 * @property {string} name of the thread
 * @property {() => object} workerData
 * @property {Limits} limits
 * @property {(why: Why, detail: string) => Error} refusal of a job that got no answer
 * @property {(failure: any) => Error} errorOf a failure
 *
 * @typedef {{ what: string, input: object, resolve: (value: any) => void, reject: (error: Error) => void }} Job
 */

/**
 * A thread for jobs whose cost is unknown, such as searches: one after another, each with limits of time and memory. A
 * job beyond them is refused and its thread is terminated. The thread starts with the first job, and ends after a
 * pause.
 */
class LimitedThread {
  #parts;
  #limits;
  /** @type {Worker | null} */
  #worker = null;
  /** Threads that were terminated and still work: native code, as that of SQLite, is not interrupted. @type {Set<Promise<unknown>>} */
  #ending = new Set();
  /** @type {Job[]} */
  #waiting = [];
  /** @type {Job | null} */
  #job = null;
  #id = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Timeout | undefined} */
  #watch;
  /** Until the jobs that wait for a thread that does not end are refused. @type {NodeJS.Timeout | undefined} */
  #patience;
  #isClosed = false;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#limits = parts.limits;
  }

  /**
   * @param {string} what
   * @param {object} input
   * @returns {Promise<any>} the answer; rejects with an error of the parts
   */
  run(what, input) {
    const { refusal } = this.#parts;
    if (this.#isClosed) return Promise.reject(refusal('closed', ''));
    if (this.#waiting.length >= this.#limits.waiting) return Promise.reject(refusal('waiting', ''));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ what, input, resolve, reject });
      this.#next();
    });
  }

  #next() {
    if (this.#job || this.#isClosed) return;
    // A second thread beside it would let any number of them work on.
    if (this.#ending.size > 0) {
      this.#patience ??= setTimeout(() => this.#endPatience(), this.#limits.workMs);
      return;
    }
    clearTimeout(this.#timer);
    const job = this.#waiting.shift();
    if (!job) {
      this.#timer = setTimeout(() => this.#drop(), this.#limits.idleMs).unref();
      return;
    }
    this.#job = job;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ type: 'ask', id: ++this.#id, what: job.what, input: job.input });
    this.#timer = setTimeout(() => this.#abort('load'), this.#limits.loadMs);
  }

  #endPatience() {
    this.#patience = undefined;
    if (this.#ending.size > 0) this.#refuseWaiting('ending');
  }

  /** @param {Why} why */
  #refuseWaiting(why) {
    for (const { reject } of this.#waiting.splice(0)) reject(this.#parts.refusal(why, ''));
  }

  #start() {
    const { file, name, workerData } = this.#parts;
    const resourceLimits = { maxOldGenerationSizeMb: 512 };
    const worker = new Worker(file, { name, workerData: workerData(), resourceLimits });
    worker.on('message', (message) => this.#onMessage(worker, message));
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#abort('crash', String(error?.message ?? error));
    });
    worker.unref();
    return worker;
  }

  /** @param {Worker} worker @param {any} message */
  #onMessage(worker, { type, id, value, failure, isBroken = false }) {
    if (worker !== this.#worker || id !== this.#id || !this.#job) return;
    if (type === 'begin') return this.#begin();
    const { resolve, reject } = this.#job;
    this.#end();
    if (isBroken) this.#drop();
    if (failure) reject(this.#parts.errorOf(failure));
    else resolve(value);
    this.#next();
  }

  /** Now the time of the job begins. */
  #begin() {
    const { workMs, memoryBytes } = this.#limits;
    clearTimeout(this.#timer);
    const before = process.memoryUsage.rss();
    this.#timer = setTimeout(() => this.#abort('work'), workMs);
    this.#watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > memoryBytes) this.#abort('memory');
    }, WATCH_MS);
  }

  #end() {
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#job = null;
  }

  /** @param {Why} why @param {string} [detail] */
  #abort(why, detail = '') {
    this.#fail(this.#parts.refusal(why, detail));
  }

  /** @param {Error} error of the present job */
  #fail(error) {
    const job = this.#job;
    this.#end();
    this.#drop();
    job?.reject(error);
    this.#next();
  }

  /** Ends the thread, and its job with this error. The next job gets a new one. @param {Error} error */
  renew(error) {
    if (this.#job) this.#fail(error);
    else this.#drop();
  }

  #drop() {
    const worker = this.#worker;
    this.#worker = null;
    if (!worker) return;
    const end = worker.terminate().finally(() => {
      this.#ending.delete(end);
      if (this.#ending.size > 0) return;
      clearTimeout(this.#patience);
      this.#patience = undefined;
      this.#next();
    });
    this.#ending.add(end);
  }

  /** @returns {Promise<void>} when no thread works any more */
  async close() {
    this.#isClosed = true;
    const job = this.#job;
    this.#end();
    clearTimeout(this.#patience);
    this.#drop();
    job?.reject(this.#parts.refusal('closed', ''));
    this.#refuseWaiting('closed');
    await Promise.all(this.#ending);
  }
}

module.exports = { LimitedThread };
