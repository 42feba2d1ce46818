'use strict';

const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');

const DEFAULT_NATIVE = path.join(__dirname, '../../../native');

/**
 * @typedef {import('./tls-server').TlsListenerOptions} TlsListenerOptions
 * @typedef {{ open: number, halfOpen: number, accepted: number, refused: Record<string, number> }} TlsState
 *
 * @typedef {object} TlsHooks
 * @property {(state: TlsState) => void} onState at most once a second
 * @property {(sentence: string) => void} onProblem
 * @property {(error: Error) => void} onLost the thread died, which closed the listener
 *
 * @typedef {object} Opened
 * @property {TlsHooks} hooks
 * @property {(port: number) => void} resolve
 * @property {(error: Error) => void} reject
 */

/**
 * The thread that terminates TLS and WebSocket for an engine's devices. It starts with the first listener. If it dies,
 * all its listeners are lost; a caller that opens its listener again starts the next thread.
 */
class TlsThread {
  /** @type {Map<number, Opened>} */
  #listeners;
  #lastId;
  #stopping;

  /** @param {number} token Engine.token @param {string} [nativePath] */
  constructor(token, nativePath = DEFAULT_NATIVE) {
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'tls-worker.js'),
      name: 'seganet-front',
      workerData: () => ({ token, nativePath }),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause) => this.#onExit(cause)
    });
    this.#listeners = new Map();
    this.#lastId = 0;
    this.#stopping = false;
  }

  /**
   * @param {number} stage that is listening already
   * @param {TlsListenerOptions} options
   * @param {TlsHooks} hooks
   * @returns {{ opened: Promise<number>, close: () => void }} opened resolves to the port; it rejects with an error
   *   that has the system's code, or a sentence for the user
   */
  open(stage, options, hooks) {
    const id = ++this.#lastId;
    if (!this.thread.isRunning) this.thread.start();
    const opened = new Promise((resolve, reject) => this.#listeners.set(id, { hooks, resolve, reject }));
    this.thread.post({ type: 'open', id, stage, options });
    const close = () => {
      this.#listeners.delete(id);
      this.thread.post({ type: 'close', id });
    };
    return { opened, close };
  }

  /** Accepts no more connections. Open connections continue. */
  hold() {
    this.#stopping = true;
    this.thread.post({ type: 'hold' });
  }

  /**
   * Writes what the engine has sent to devices, then ends the thread. Call it after Engine.close().
   * @param {number} timeoutMs
   */
  async stop(timeoutMs) {
    this.#stopping = true;
    await this.thread.stop({ type: 'stop' }, timeoutMs);
  }

  /** @param {any} message */
  #onMessage({ type, id, ...message }) {
    const listener = this.#listeners.get(id);
    if (!listener) return;
    if (type === 'opened') listener.resolve(message.port);
    else if (type === 'state') listener.hooks.onState(message.state);
    else if (type === 'problem') listener.hooks.onProblem(message.reason);
    else if (type === 'refused') {
      this.#listeners.delete(id);
      listener.reject(Object.assign(new Error(message.reason), { code: message.code }));
    }
  }

  /** @param {string} cause */
  #onExit(cause) {
    const lost = [...this.#listeners.values()];
    this.#listeners.clear();
    if (this.#stopping) return;
    const error = new Error(`The thread for TLS and WebSocket ended unexpectedly (${cause}).`);
    for (const { hooks, reject } of lost) {
      reject(error);
      hooks.onLost(error);
    }
  }
}

exports.TlsThread = TlsThread;
