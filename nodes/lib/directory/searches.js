'use strict';
// Searches one after another in a thread of their own, each with limits of time and memory. The thread starts with the
// first search, and ends after a pause.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { DirectoryError } = require('./directory-error');

const LIMITS = {
  /** Of a search, after the things are loaded. */
  searchMs: 1000,
  /** Of the thread's start and the loading. */
  loadMs: 30000,
  /** Of the triples of all things as text (N-Triples): 100,000 things with one property have about this. */
  tripleBytes: 256 << 20,
  /** Growth of the process while a search runs. WebAssembly has no limit of its own. */
  memoryBytes: 256 << 20,
  waiting: 8,
  idleMs: 60000
};
const WATCH_MS = 50;

/**
 * @typedef {'sparql' | 'jsonpath'} Kind
 * @typedef {{ what: Kind, input: object, resolve: (value: string) => void, reject: (error: Error) => void }} Job
 */

class Searches {
  #directory;
  #limits;
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Job[]} */
  #waiting = [];
  /** @type {Job | null} */
  #job = null;
  #id = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Timeout | undefined} */
  #watch;
  #isClosed = false;

  /** @param {string} directory @param {Partial<typeof LIMITS>} [limits] */
  constructor(directory, limits = {}) {
    this.#directory = directory;
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * @param {Kind} what
   * @param {object} input
   * @returns {Promise<string>} the answer; rejects with a DirectoryError
   */
  run(what, input) {
    if (this.#isClosed) return Promise.reject(new DirectoryError(503, 'The directory is not open.'));
    if (this.#waiting.length >= this.#limits.waiting)
      return Promise.reject(
        new DirectoryError(503, `${this.#limits.waiting} searches wait already. Ask again in a second.`)
      );
    return new Promise((resolve, reject) => {
      this.#waiting.push({ what, input, resolve, reject });
      this.#next();
    });
  }

  #next() {
    if (this.#job || this.#isClosed) return;
    const job = this.#waiting.shift();
    clearTimeout(this.#timer);
    if (!job) {
      this.#timer = setTimeout(() => this.#drop(), this.#limits.idleMs).unref();
      return;
    }
    this.#job = job;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ type: 'ask', id: ++this.#id, what: job.what, input: job.input });
    this.#timer = setTimeout(
      () => this.#abort(new DirectoryError(503, 'The things could not be loaded for the search in time.')),
      this.#limits.loadMs
    );
  }

  #start() {
    const worker = new Worker(path.join(__dirname, 'search-worker.js'), {
      name: 'seganet-search',
      workerData: { options: { directory: this.#directory, tripleBytes: this.#limits.tripleBytes } },
      resourceLimits: { maxOldGenerationSizeMb: 512 }
    });
    worker.on('message', (message) => this.#onMessage(worker, message));
    worker.on('error', (error) => {
      if (this.#worker === worker)
        this.#abort(new DirectoryError(503, `The search failed: ${String(error?.message ?? error)}.`));
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
    if (failure) reject(new DirectoryError(failure.status, failure.message, failure.more));
    else resolve(value);
    this.#next();
  }

  /** The things are loaded; now the time of the search begins. */
  #begin() {
    const { searchMs, memoryBytes } = this.#limits;
    clearTimeout(this.#timer);
    const before = process.memoryUsage.rss();
    this.#timer = setTimeout(
      () =>
        this.#abort(
          new DirectoryError(400, `The search took longer than ${searchMs} ms. Use a narrower query.`)
        ),
      searchMs
    );
    this.#watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > memoryBytes)
        this.#abort(
          new DirectoryError(
            400,
            `The search needs more than ${memoryBytes >> 20} MiB of memory. Use a narrower query.`
          )
        );
    }, WATCH_MS);
  }

  #end() {
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#job = null;
  }

  /** @param {DirectoryError} error */
  #abort(error) {
    const job = this.#job;
    this.#end();
    this.#drop();
    job?.reject(error);
    this.#next();
  }

  /** Call it when the file of the things was replaced: the thread has the old one open. */
  reopen() {
    if (this.#job)
      this.#abort(new DirectoryError(503, 'The file of the directory was replaced meanwhile. Search again.'));
    else this.#drop();
  }

  #drop() {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#isClosed = true;
    const worker = this.#worker;
    const jobs = [this.#job, ...this.#waiting];
    this.#waiting = [];
    this.#end();
    clearTimeout(this.#timer);
    this.#worker = null;
    for (const job of jobs) job?.reject(new DirectoryError(503, 'The directory is being closed.'));
    await worker?.terminate();
  }
}

module.exports = { LIMITS, Searches };
