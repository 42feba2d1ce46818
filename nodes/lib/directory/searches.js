'use strict';
// Searches in a thread of their own, with limits of time and memory.

const path = require('node:path');
const { LimitedThread } = require('../base/limited-thread');
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

/** @typedef {'sparql' | 'jsonpath'} Kind */

class Searches {
  #thread;

  /** @param {string} directory @param {Partial<typeof LIMITS>} [some] */
  constructor(directory, some = {}) {
    const limits = { ...LIMITS, ...some };
    this.#thread = new LimitedThread({
      file: path.join(__dirname, 'search-worker.js'),
      name: 'seganet-search',
      workerData: () => ({ options: { directory, tripleBytes: limits.tripleBytes } }),
      limits: { ...limits, workMs: limits.searchMs },
      refusal: (why, detail) => refusalOf(limits, why, detail),
      errorOf: ({ status, message, more }) => new DirectoryError(status, message, more)
    });
  }

  /**
   * @param {Kind} what
   * @param {object} input
   * @returns {Promise<string>} the answer; rejects with a DirectoryError
   */
  run(what, input) {
    return this.#thread.run(what, input);
  }

  /** Call it when the file of the things was replaced: the thread has the old one open. */
  reopen() {
    this.#thread.renew(
      new DirectoryError(503, 'The file of the directory was replaced during the search. Search again.')
    );
  }

  /** @returns {Promise<void>} */
  close() {
    return this.#thread.close();
  }
}

/**
 * @param {typeof LIMITS} limits
 * @param {import('../base/limited-thread').Why} why
 * @param {string} detail
 */
function refusalOf({ searchMs, memoryBytes, waiting }, why, detail) {
  switch (why) {
    case 'closed':
      return new DirectoryError(503, 'The directory is not open.');
    case 'waiting':
      return new DirectoryError(503, `${waiting} searches wait already. Ask again in a second.`);
    case 'ending':
      return new DirectoryError(503, 'The search before has not ended yet. Ask again in a second.');
    case 'load':
      return new DirectoryError(503, 'The things could not be loaded for the search in time.');
    case 'work':
      return new DirectoryError(400, `The search took longer than ${searchMs} ms. Use a narrower query.`);
    case 'memory':
      return new DirectoryError(
        400,
        `The search needs more than ${memoryBytes >> 20} MiB of memory. Use a narrower query.`
      );
    default:
      return new DirectoryError(503, `The search failed: ${detail}.`);
  }
}

module.exports = { LIMITS, Searches };
