'use strict';
// The keeper's stream of events: lines of JSON over HTTP on its Unix socket. A stream that is lost is opened again.

const http = require('node:http');
const { StringDecoder } = require('node:string_decoder');
const { Backoff } = require('../../base/backoff');
const { KeeperError, unreachable } = require('./keeper-error');

const MIN_MS = 250;
const MAX_MS = 5000;
const OPEN_MS = 5000;
const MAX_LINE = 65536;
const TEXTS = /** @type {const} */ (['by', 'reason', 'how', 'driver']);

/**
 * @typedef {object} KeeperEvent
 * @property {number} at ms since 1970
 * @property {string} tenant '' = of the keeper itself
 * @property {string} event such as waking, ready, paused, stopped, failed, backup
 * @property {string} [by]
 * @property {number} [class]
 * @property {number} [ms]
 * @property {string} [reason]
 * @property {string} [how]
 * @property {string} [driver]
 * @property {boolean} [ok]
 *
 * @typedef {object} EventHandlers
 * @property {(event: KeeperEvent) => void} onEvent
 * @property {(problem: string) => void} onState '' = the stream is open; else a sentence. Called on change
 */

class KeeperEvents {
  #socket;
  #handlers;
  #backoff;
  /** @type {http.ClientRequest | null} */
  #request = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isClosed = false;
  /** Why there is no stream, null = not known yet. @type {string | null} */
  #problem = null;
  /** Lines that were no events. */
  malformed = 0;

  /**
   * @param {{ socket: string, minMs?: number, maxMs?: number }} options
   * @param {EventHandlers} handlers
   */
  constructor({ socket, minMs = MIN_MS, maxMs = MAX_MS }, handlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#backoff = new Backoff(minMs, maxMs);
  }

  /** @returns {string | null} why there is no stream; '' = it is open, null = not known yet */
  get problem() {
    return this.#problem;
  }

  open() {
    if (this.#isClosed) return;
    const request = http.get({ socketPath: this.#socket, path: '/v1/events', agent: false });
    this.#request = request;
    const late = setTimeout(
      () => request.destroy(new KeeperError('The keeper sends no events.', { code: 'timeout' })),
      OPEN_MS
    );
    let isOver = false;
    /** @param {Error} error */
    const end = (error) => {
      clearTimeout(late);
      if (isOver) return;
      isOver = true;
      request.destroy();
      this.#lost(error);
    };
    request.on('error', end);
    request.on('response', (response) => {
      clearTimeout(late);
      if (response.statusCode !== 200)
        return end(
          new KeeperError(`The keeper refuses its events (${response.statusCode}).`, { code: 'refused' })
        );
      this.#backoff.reset();
      this.#tell('');
      this.#follow(response, end);
    });
  }

  /** @param {http.IncomingMessage} response @param {(error: Error) => void} end */
  #follow(response, end) {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    response.on('data', (chunk) => {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#onLine(line);
      if (rest.length > MAX_LINE)
        end(new KeeperError('The keeper sends an event that is too long.', { code: 'protocol' }));
    });
    response.on('error', end);
    response.on('close', () =>
      end(new KeeperError('The keeper of the tenants closed the stream of events.', { code: 'unreachable' }))
    );
  }

  /** @param {string} line */
  #onLine(line) {
    if (this.#isClosed || line.trim() === '') return;
    const event = eventOf(line);
    if (event) this.#handlers.onEvent(event);
    else this.malformed++;
  }

  /** @param {Error} error */
  #lost(error) {
    if (this.#isClosed) return;
    this.#tell(error instanceof KeeperError ? error.message : unreachable(this.#socket, error).message);
    this.#timer = setTimeout(() => this.open(), this.#backoff.next());
    this.#timer.unref();
  }

  /** @param {string} problem */
  #tell(problem) {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#handlers.onState(problem);
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
  }
}

/** @param {string} line @returns {KeeperEvent | null} null: it is no event */
function eventOf(line) {
  let given;
  try {
    given = JSON.parse(line);
  } catch {
    return null;
  }
  const { at, tenant = '', event, class: recordClass, ms, ok } = given ?? {};
  if (typeof event !== 'string' || event === '' || typeof tenant !== 'string') return null;
  /** @type {KeeperEvent} */
  const read = { at: typeof at === 'number' ? at : Date.parse(at) || Date.now(), tenant, event };
  for (const name of TEXTS) if (typeof given[name] === 'string') read[name] = given[name];
  if (Number.isInteger(recordClass)) read.class = recordClass;
  if (typeof ms === 'number') read.ms = ms;
  if (typeof ok === 'boolean') read.ok = ok;
  return read;
}

exports.KeeperEvents = KeeperEvents;
exports.eventOf = eventOf;
