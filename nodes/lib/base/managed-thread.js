'use strict';

const { Worker } = require('node:worker_threads');
const { Backoff } = require('./backoff');

const RESTART_MIN_MS = 250;
const RESTART_MAX_MS = 30000;

/**
 * @typedef {object} ThreadParts
 * @property {string} file the module that the thread runs
 * @property {string} name of the thread, as the operating system shows it
 * @property {() => object} workerData returns the workerData of the next thread
 * @property {(message: any) => void} onMessage
 * @property {(cause: string, restartMs: number) => void} onExit receives the error message or the exit code of a thread
 *   that ended, and the time until the next one starts; restartMs -1 = none starts
 * @property {() => void} [onStart] posts what a new thread must know
 * @property {boolean} [restarts] starts the next thread with back-off when one ends on its own, default false
 */

/**
 * A worker thread that is started, restarted with exponential back-off if it dies, and stopped within a time limit.
 */
class ManagedThread {
  /** @param {ThreadParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.backoff = new Backoff(RESTART_MIN_MS, RESTART_MAX_MS);
    this.isStopping = false;
    /** @type {Worker | null} */
    this.worker = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.restartTimer = undefined;
  }

  get isRunning() {
    return this.worker !== null;
  }

  /** Starts a thread. REQUIRES: none is running. */
  start() {
    const { file, name, workerData, onMessage, onStart } = this.parts;
    const worker = new Worker(file, { workerData: workerData(), name });
    this.worker = worker;
    let cause = '';
    worker.on('message', onMessage);
    worker.on('error', (error) => (cause = String(error?.message ?? error)));
    worker.on('exit', (code) => this.#onExit(worker, cause || `exit code ${code}`));
    onStart?.();
  }

  /**
   * Posts a message to the thread. While no thread is running, the message is discarded.
   * @param {object} message
   */
  post(message) {
    this.worker?.postMessage(message);
  }

  /** Resets the restart delay. Call it when the thread works. */
  markHealthy() {
    this.backoff.reset();
  }

  /** Ends the thread immediately. */
  terminate() {
    void this.worker?.terminate();
  }

  /**
   * Cancels a pending restart, asks the thread to end, and terminates it after the time limit.
   * @param {object} message that asks the thread to end
   * @param {number} limitMs
   * @returns {Promise<boolean>} false when no thread was running
   */
  async stop(message, limitMs) {
    this.isStopping = true;
    clearTimeout(this.restartTimer);
    const { worker } = this;
    if (!worker) return false;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage(message);
    const timer = setTimeout(() => worker.terminate(), limitMs);
    await exited;
    clearTimeout(timer);
    return true;
  }

  /**
   * @param {Worker} worker
   * @param {string} cause
   */
  #onExit(worker, cause) {
    if (this.worker !== worker) return;
    this.worker = null;
    const willRestart = this.parts.restarts === true && !this.isStopping;
    const restartMs = willRestart ? this.backoff.next() : -1;
    if (willRestart) this.restartTimer = setTimeout(() => this.start(), restartMs);
    this.parts.onExit(cause, restartMs);
  }
}

exports.ManagedThread = ManagedThread;
