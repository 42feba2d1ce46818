'use strict';
// Follows the overlay's program: its status once a second and its events, over a connection that is opened again when
// it is lost.

const { Backoff } = require('../base/backoff');
const { ControlConnection } = require('./control-connection');
const { eventOf, statusOf } = require('./peers');

const MIN_MS = 250;
const MAX_MS = 5000;
const STATUS_MS = 1000;

/**
 * @typedef {object} WatchHandlers
 * @property {(status: import('./peers').OverlayStatus) => void} onStatus
 * @property {(event: import('./peers').OverlayEvent) => void} onEvent
 * @property {(problem: string) => void} onState '' = connected; else a sentence. Called on change
 */

class OverlayWatch {
  #options;
  #handlers;
  #backoff;
  /** @type {ControlConnection | null} */
  #connection = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {string | null} */
  #problem = null;
  #isClosed = false;
  #quietUntil = 0;
  /** Events that were malformed. */
  malformed = 0;

  /**
   * @param {object} options
   * @param {string} options.socket
   * @param {number} [options.minMs]
   * @param {number} [options.maxMs]
   * @param {number} [options.statusMs]
   * @param {number} [options.graceMs] how long a program that is being started may be missing
   * @param {WatchHandlers} handlers
   */
  constructor({ socket, minMs = MIN_MS, maxMs = MAX_MS, statusMs = STATUS_MS, graceMs = 0 }, handlers) {
    this.#quietUntil = performance.now() + graceMs;
    this.#options = { socket, statusMs };
    this.#handlers = handlers;
    this.#backoff = new Backoff(minMs, maxMs);
  }

  /** @returns {string | null} why there is no connection; '' = there is one, null = not known yet */
  get problem() {
    return this.#problem;
  }

  open() {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    const connection = new ControlConnection(this.#options.socket, {
      onOpen: () => void this.#begin(connection),
      onEvent: (given) => {
        const event = eventOf(given, Date.now());
        if (event) this.#handlers.onEvent(event);
        else this.malformed++;
      },
      onEnd: (error) => this.#lost(error)
    });
    this.#connection = connection;
  }

  /** @param {ControlConnection} connection */
  async #begin(connection) {
    try {
      await connection.request('events');
      await this.#poll(connection);
    } catch (error) {
      // The end of the connection was reported already.
      if (connection.isOver) return;
      connection.close();
      this.#lost(/** @type {Error} */ (error));
    }
  }

  /** @param {ControlConnection} connection */
  async #poll(connection) {
    const status = statusOf(await connection.request('status'));
    if (connection !== this.#connection || this.#isClosed) return;
    this.#backoff.reset();
    this.#tell('');
    this.#handlers.onStatus(status);
    this.#timer = setTimeout(() => {
      this.#poll(connection).catch((error) => {
        if (connection.isOver) return;
        connection.close();
        this.#lost(error);
      });
    }, this.#options.statusMs);
    this.#timer.unref();
  }

  /** @param {Error} error */
  #lost(error) {
    if (this.#isClosed) return;
    this.#connection = null;
    this.#tell(error.message);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), this.#backoff.next());
    this.#timer.unref();
  }

  /** @param {string} problem */
  #tell(problem) {
    if (problem === this.#problem) return;
    if (this.#problem === null && problem && performance.now() < this.#quietUntil) return;
    this.#problem = problem;
    this.#handlers.onState(problem);
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#connection?.close();
    this.#connection = null;
  }
}

exports.OverlayWatch = OverlayWatch;
