'use strict';
// Sends the last values that have changed, at most once a second, to each listener. Without a listener there is no
// timer, and no worker is asked.

const { guard } = require('../base/guard');
const { engineTime } = require('./value-pages');
const { rowOf } = require('./value-query');
const { Viewer } = require('./viewer');

const INTERVAL_MS = 1000;
/** Most listeners at a time. */
const MAX_LISTENERS = 16;
/** Most values of a message. */
const MAX_ROWS = 100;
/** Without `since`, a stream begins with what changed in this time, ms: the page has read the values before. */
const BEGIN_MS = 2000;
/** A comment is sent after this many seconds without a message, so that the client knows that the stream lives. */
const BEAT_S = 10;

/**
 * @typedef {import('./live-stream').LiveEngine} LiveEngine
 * @typedef {import('./value-query').ValueRequest} ValueRequest
 * @typedef {{ viewer: Viewer<ValueRequest>, request: ValueRequest, host: LiveEngine['host'], since: number, quiet: number }} Listener
 *   host: of which `since` is; quiet: seconds without a message
 */

class ValueStream {
  #engineOf;
  #options;
  /** @type {Set<Listener>} */
  #listeners = new Set();
  /** @type {NodeJS.Timeout | null} */
  #timer = null;

  /**
   * @param {(id: string) => LiveEngine | undefined} engineOf
   * @param {{ onFault?: (error: Error) => void, now?: () => number, intervalMs?: number }} [options]
   */
  constructor(engineOf, options = {}) {
    this.#engineOf = engineOf;
    const { onFault = () => {}, now = () => performance.now(), intervalMs = INTERVAL_MS } = options;
    this.#options = { onFault, now, intervalMs };
  }

  get size() {
    return this.#listeners.size;
  }

  get isFull() {
    return this.#listeners.size >= MAX_LISTENERS;
  }

  /**
   * REQUIRES: not isFull.
   * @param {import('node:http').ServerResponse} response
   * @param {ValueRequest} request
   */
  add(response, request) {
    const onClose = () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0 || !this.#timer) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
    const viewer = new Viewer(response, request, { now: this.#options.now, onClose });
    /** @type {Listener} */
    const listener = { viewer, request, host: null, since: 0, quiet: 0 };
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => this.#tick(), this.#options.intervalMs).unref();
    this.#serve(listener);
  }

  #tick() {
    for (const listener of this.#listeners) {
      if (listener.viewer.isReady) this.#serve(listener);
      if (listener.viewer.isOver()) listener.viewer.end();
    }
  }

  /** @param {Listener} listener */
  #serve(listener) {
    guard(
      () => this.#send(listener),
      (error) => {
        listener.viewer.end();
        this.#options.onFault(error);
      }
    );
  }

  /** @param {Listener} listener */
  #send(listener) {
    const { request, viewer } = listener;
    const host = this.#engineOf(request.engine)?.host ?? null;
    if (!host) return this.#beat(listener);
    if (listener.host !== host) {
      // Of an engine that was deployed again, all values count as changed.
      const begin = listener.host ? 0 : (request.sinceMs ?? Date.now() - BEGIN_MS);
      listener.since = engineTime(host.engine, begin);
      listener.host = host;
    }
    const limit = Math.min(request.query.limit, MAX_ROWS);
    const { values, more, at } = host.engine.values({ ...request.query, limit, since: listener.since });
    listener.since = at;
    if (values.length === 0) return this.#beat(listener);
    listener.quiet = 0;
    viewer.send('values', JSON.stringify({ values: values.map(rowOf), ...(more && { more }) }));
  }

  /** @param {Listener} listener */
  #beat(listener) {
    if (listener.quiet++ % BEAT_S === 0) listener.viewer.beat();
  }
}

module.exports = { MAX_LISTENERS, MAX_ROWS, ValueStream };
