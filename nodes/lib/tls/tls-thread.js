'use strict';

const path = require('node:path');
const { Worker } = require('node:worker_threads');

const DEFAULT_NATIVE = path.join(__dirname, '../../../native');

/**
 * @typedef {import('./tls-server').FrontOptions} FrontOptions
 * @typedef {{ open: number, halfOpen: number, accepted: number, refused: Record<string, number> }} FrontState
 *
 * @typedef {object} FrontHooks
 * @property {(state: FrontState) => void} onState at most once a second
 * @property {(sentence: string) => void} onProblem
 * @property {(error: Error) => void} onLost the thread died, and the listener with it
 *
 * @typedef {object} Opened
 * @property {FrontHooks} hooks
 * @property {(port: number) => void} resolve
 * @property {(error: Error) => void} reject
 */

/**
 * The thread in which TLS and WebSocket of an engine's devices end. It runs from the first listener on; who lost a listener
 * because the thread died opens it again, and so starts another thread.
 */
class FrontThread {
  /** @param {number} token Engine.token @param {string} [nativePath] */
  constructor(token, nativePath = DEFAULT_NATIVE) {
    this.workerData_ = { token, nativePath };
    /** @type {Worker | null} */
    this.worker_ = null;
    /** @type {Map<number, Opened>} */
    this.listeners_ = new Map();
    this.lastId_ = 0;
    this.stopping_ = false;
  }

  /**
   * @param {number} stage which listens already
   * @param {FrontOptions} options
   * @param {FrontHooks} hooks
   * @returns {{ opened: Promise<number>, close: () => void }} the port; rejects with the system's code, or a sentence
   */
  open(stage, options, hooks) {
    const id = ++this.lastId_;
    const worker = (this.worker_ ??= this.start_());
    const opened = new Promise((resolve, reject) => this.listeners_.set(id, { hooks, resolve, reject }));
    worker.postMessage({ type: 'open', id, stage, options });
    const close = () => {
      this.listeners_.delete(id);
      this.worker_?.postMessage({ type: 'close', id });
    };
    return { opened, close };
  }

  /** No new connections; those that are open go on. */
  hold() {
    this.stopping_ = true;
    this.worker_?.postMessage({ type: 'hold' });
  }

  /**
   * After Engine.close(): what the engine has sent to devices goes out, then the thread ends.
   * @param {number} timeoutMs
   */
  async stop(timeoutMs) {
    this.stopping_ = true;
    const worker = this.worker_;
    if (!worker) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage({ type: 'stop' });
    const timer = setTimeout(() => worker.terminate(), timeoutMs);
    await exited;
    clearTimeout(timer);
  }

  start_() {
    const worker = new Worker(path.join(__dirname, 'tls-worker.js'), {
      workerData: this.workerData_,
      name: 'seganet-front'
    });
    let cause = '';
    worker.on('message', (message) => this.onMessage_(message));
    worker.on('error', (error) => (cause = String(error?.message ?? error)));
    worker.on('exit', (code) => this.onExit_(cause || `exit code ${code}`));
    return worker;
  }

  /** @param {any} message */
  onMessage_({ type, id, ...message }) {
    const listener = this.listeners_.get(id);
    if (!listener) return;
    if (type === 'opened') listener.resolve(message.port);
    else if (type === 'state') listener.hooks.onState(message.state);
    else if (type === 'problem') listener.hooks.onProblem(message.reason);
    else if (type === 'refused') {
      this.listeners_.delete(id);
      listener.reject(Object.assign(new Error(message.reason), { code: message.code }));
    }
  }

  /** @param {string} cause */
  onExit_(cause) {
    this.worker_ = null;
    const lost = [...this.listeners_.values()];
    this.listeners_.clear();
    if (this.stopping_) return;
    const error = new Error(`The thread for TLS and WebSocket ended unexpectedly (${cause}).`);
    for (const { hooks, reject } of lost) {
      reject(error);
      hooks.onLost(error);
    }
  }
}

exports.FrontThread = FrontThread;
