'use strict';
// Calls to a thread, with their answers and an optional time limit.

const { ManagedThread } = require('../base/managed-thread');
const { DirectoryError } = require('./directory-error');

const STOP_MS = 5000;
/** Calls that wait for the thread. */
const MAX_OPEN = 1000;

/**
 * @typedef {object} CallsParts
 * @property {string} file of the thread
 * @property {string} name of the thread
 * @property {object} options
 * @property {(message: any) => void} [onMessage] other messages
 * @property {(sentence: string) => void} problem
 */

class Calls {
  #last = 0;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  #open = new Map();
  #isClosed = false;

  /** @param {CallsParts} parts */
  constructor({ file, name, options, onMessage = () => {}, problem }) {
    this.thread = new ManagedThread({
      file,
      name,
      workerData: () => ({ options }),
      onMessage: (message) => {
        this.thread.markHealthy();
        if (message.type === 'answer') this.#answer(message);
        else onMessage(message);
      },
      onExit: (cause, restartMs) => {
        const sentence = `The thread of the directory ended (${cause}).`;
        for (const id of [...this.#open.keys()])
          this.#answer({ id, failure: { status: 503, message: sentence, more: {} } });
        if (restartMs < 0) return;
        onMessage({ type: 'state', reason: sentence, total: 0, posted: 0 });
        problem(`${sentence} It restarts in ${restartMs} ms.`);
      },
      restarts: true
    });
    this.thread.start();
  }

  /**
   * @param {string} what
   * @param {object} [input]
   * @returns {Promise<any>} rejects with a DirectoryError
   */
  ask(what, input = {}) {
    if (this.#isClosed || !this.thread.isRunning)
      return Promise.reject(new DirectoryError(503, 'The directory is not open.'));
    if (this.#open.size >= MAX_OPEN)
      return Promise.reject(new DirectoryError(503, 'The directory has too many open requests. Ask again.'));
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      try {
        this.thread.post({ type: 'ask', id, what, input });
      } catch (error) {
        // It is nested too deep to be passed to the thread.
        return reject(
          new DirectoryError(400, `The input cannot be read: ${/** @type {Error} */ (error).message}.`)
        );
      }
      this.#open.set(id, { resolve, reject });
    });
  }

  /** @param {{ id: number, value?: unknown, failure?: { status: number, message: string, more: object } }} answer */
  #answer({ id, value, failure }) {
    const call = this.#open.get(id);
    this.#open.delete(id);
    if (failure) call?.reject(new DirectoryError(failure.status, failure.message, failure.more));
    else call?.resolve(value);
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#isClosed = true;
    await this.thread.stop({ type: 'stop' }, STOP_MS);
  }
}

exports.Calls = Calls;
