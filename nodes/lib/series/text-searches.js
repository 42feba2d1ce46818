'use strict';
// Searches of the records of one series node, in a thread of their own.

const path = require('node:path');
const { LimitedThread } = require('../base/limited-thread');
const { shown } = require('../base/values');
const { QuestionError } = require('./question-error');

const LIMITS = {
  /** The search ends with what it has found. */
  partMs: 500,
  /** A search that has found nothing until then is refused. */
  workMs: 1000,
  loadMs: 10000,
  memoryBytes: 256 << 20,
  waiting: 8,
  idleMs: 60000
};

class TextSearches {
  #thread;
  #limits;

  /** @param {string} directory @param {Partial<typeof LIMITS>} [some] */
  constructor(directory, some = {}) {
    const limits = { ...LIMITS, ...some };
    this.#limits = limits;
    this.#thread = new LimitedThread({
      file: path.join(__dirname, 'text-search-worker.js'),
      name: 'seganet-text',
      workerData: () => ({ directory }),
      limits,
      refusal: (why, detail) => refusalOf(limits, why, detail),
      errorOf: ({ message, isWrong }) =>
        isWrong ? new QuestionError(message) : new Error(`The search failed: ${shown(message)}.`)
    });
  }

  /**
   * @param {import('./text-search').Question} question
   * @returns {Promise<{ records: import('./text-search').Found[], isComplete: boolean }>} rejects with a sentence; with
   *   a QuestionError if the question is wrong
   */
  run(question) {
    return this.#thread.run('search', { question, partMs: this.#limits.partMs });
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
function refusalOf({ workMs, memoryBytes, waiting }, why, detail) {
  switch (why) {
    case 'closed':
      return new Error('The series are not open.');
    case 'waiting':
      return new Error(`${waiting} searches wait already. Ask again in a second.`);
    case 'ending':
      return new Error('The search before has not ended yet. Ask again in a second.');
    case 'load':
      return new Error('The search could not start in time. Ask again.');
    case 'work':
      return new QuestionError(
        `The search took longer than ${workMs} ms. Use fewer words, or more letters before each *.`
      );
    case 'memory':
      return new QuestionError(
        `The search needs more than ${memoryBytes >> 20} MiB of memory. Use fewer words, or more letters before each *.`
      );
    default:
      return new Error(`The search failed: ${shown(detail)}.`);
  }
}

module.exports = { LIMITS, TextSearches };
