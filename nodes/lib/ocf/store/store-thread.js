'use strict';

const path = require('node:path');
const { ManagedThread } = require('../../base/managed-thread');
const { AnswerCache } = require('./answer-cache');
const { CallFigures } = require('./call-figures');
const { DataVersion } = require('./data-version');

/** @typedef {import('./operations').Store} Store */
/** @typedef {Parameters<typeof import('./operations').READS.discover>[1]} Discovery */
/** @typedef {{ resolve: (value: any) => void, reject: (error: Error) => void }} Call */

const WORKER_FILE = path.join(__dirname, 'store-worker.js');
const END_LIMIT_MS = 10000;
/** Calls that have no result. Beyond that, a call fails at once, so that memory stays bounded. */
const MOST_OPEN = 8192;

/**
 * A SqliteStore in a thread of its own, so that a slow disk does not hold up Node-RED. If the thread dies, calls fail
 * until the next one has opened the file.
 * @implements {Store}
 */
class StoreThread {
  #thread;
  /** @type {Map<number, Call>} */
  #open = new Map();
  #figures = new CallFigures();
  #answers = new AnswerCache();
  #version;
  #lastId = 0;
  #isReady = false;
  #isClosed = false;
  /** True if a thread ended, and with it what it knew of changes by others. */
  #hasMissed = false;
  /** @type {((problem: string) => void) | null} */
  #opened = null;

  /**
   * Use open().
   * @param {string} file
   * @param {(sentence: string) => void} report
   */
  constructor(file, report) {
    this.#version = new DataVersion(file);
    this.#thread = new ManagedThread({
      file: WORKER_FILE,
      name: 'seganet-ocf-db',
      workerData: () => ({ file }),
      restarts: true,
      onMessage: (message) => this.#take(message),
      onExit: (cause, restartMs) => {
        this.#isReady = false;
        this.#failAll(new Error('The database is not available.'));
        this.#opened?.(`${file}: ${cause}`);
        if (restartMs >= 0 && !this.#opened) {
          report(`The thread of the database ${file} ended (${cause}). It starts again in ${restartMs} ms.`);
        }
      }
    });
  }

  /**
   * Opens the file, and creates it if necessary.
   * @param {string} file absolute
   * @param {(sentence: string) => void} [report] gets what happens to the thread later
   * @returns {Promise<StoreThread>}
   * @throws {Error} if the file cannot be used
   */
  static async open(file, report = () => {}) {
    const store = new StoreThread(file, report);
    const problem = await new Promise((resolve) => {
      store.#opened = resolve;
      store.#thread.start();
    });
    store.#opened = null;
    if (problem) {
      await store.close();
      throw new Error(problem);
    }
    return store;
  }

  /** @type {Store['read']} */
  read(name, input) {
    const call = () => this.#call({ kind: 'read', name, input });
    const result = name === 'discover' ? this.#discover(/** @type {any} */ (input), call) : call();
    return this.#figures.count('read', result);
  }

  /**
   * Answers a discovery without the thread, if the database has not changed since the same question.
   * @param {Discovery} input
   * @param {() => Promise<any>} ask the thread
   */
  async #discover({ now, ...input }, ask) {
    if (!this.#isReady || this.#isClosed) return ask();
    const version = this.#version.read();
    const key = JSON.stringify(input);
    const known = this.#answers.get(version, key, now);
    if (known) return known;
    const found = await ask();
    // Its statements may have seen different commits.
    if (found && !this.#isClosed && this.#version.read() === version) {
      this.#answers.set(version, key, now, found);
    }
    return found;
  }

  /** @type {Store['write']} */
  write(name, input) {
    return this.#figures.count('write', this.#call({ kind: 'write', name, input }));
  }

  /** @type {Store['takeChanges']} */
  async takeChanges() {
    const changes = await this.#call({ kind: 'takeChanges' });
    if (!this.#hasMissed) return changes;
    this.#hasMissed = false;
    return 'all';
  }

  /** @type {Store['figures']} */
  figures() {
    return this.#figures.snapshot();
  }

  /** Commits what waits, and ends the thread. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The thread's connection must be the last one: it empties the WAL.
    this.#version.close();
    await this.#thread.stop({ kind: 'end' }, END_LIMIT_MS);
    this.#failAll(new Error('The database is closed.'));
  }

  /** Ends the thread as a crash would, for tests. */
  crash() {
    this.#thread.terminate();
  }

  /** @param {{ kind: 'read' | 'write' | 'takeChanges', name?: any, input?: any }} call @returns {Promise<any>} */
  #call({ kind, name, input }) {
    return new Promise((resolve, reject) => {
      const refuse = (/** @type {string} */ reason) => reject(new Error(reason));
      if (this.#isClosed) return refuse('The database is closed.');
      if (!this.#isReady) return refuse('The database is not available.');
      if (this.#open.size >= MOST_OPEN) return refuse('The database is too busy.');
      const id = ++this.#lastId;
      this.#open.set(id, { resolve, reject });
      this.#thread.post({ kind, name, input, id });
    });
  }

  /** @param {any} message */
  #take({ kind, id, result, message, code, reason }) {
    if (kind === 'ready') {
      this.#isReady = true;
      this.#version.reset();
      this.#thread.markHealthy();
      if (this.#opened) this.#opened('');
      else this.#hasMissed = true;
      return;
    }
    if (kind === 'failed') return this.#opened?.(reason);
    const call = this.#open.get(id);
    if (!call) return;
    this.#open.delete(id);
    if (kind === 'done') call.resolve(result);
    else call.reject(Object.assign(new Error(message), code ? { code } : {}));
  }

  /** @param {Error} error */
  #failAll(error) {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}

exports.StoreThread = StoreThread;
