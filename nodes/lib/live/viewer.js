'use strict';
// One connection of the live stream. A viewer that has not taken the previous events gets none, so nothing is queued
// for it, and its next event is the newest.

const { EVENT_HEADERS, EventStream } = require('../base/event-stream');

/** A viewer that takes nothing for this long is disconnected, ms. */
const MAX_BLOCKED_MS = 30000;
/** A connection ends after this long, ms. The page connects again, so that a login that ended has an effect. */
const MAX_AGE_MS = 600000;

/** @template [Q=import('./live-query').LiveQuery] */
class Viewer {
  #events;
  #now;
  #since;

  /**
   * @param {import('node:http').ServerResponse} response
   * @param {Q} query
   * @param {{ now: () => number, onClose?: () => void }} options now: ms
   */
  constructor(response, query, options) {
    this.query = query;
    /** True: the login may also change something. */
    this.mayWrite = true;
    /** Points of the history that were sent, by the id of their engine. */
    this.history = '';
    this.#now = options.now;
    this.#since = options.now();
    response.writeHead(200, EVENT_HEADERS);
    this.#events = new EventStream(response, options);
  }

  /** True if the viewer can take an event now. */
  get isReady() {
    return this.#events.isReady;
  }

  /** Call it once a second. @returns {boolean} true if the connection must end */
  isOver() {
    return this.#events.blockedMs() > MAX_BLOCKED_MS || this.#now() - this.#since > MAX_AGE_MS;
  }

  /** @param {string} event @param {string} data JSON */
  send(event, data) {
    this.#events.send({ event, data });
  }

  /** Sends a comment, by which the client knows that the stream lives. */
  beat() {
    this.#events.beat();
  }

  end() {
    // A viewer that takes nothing would not take the end either.
    if (this.isReady) this.#events.end();
    else this.#events.destroy();
  }
}

exports.Viewer = Viewer;
exports.MAX_BLOCKED_MS = MAX_BLOCKED_MS;
exports.MAX_AGE_MS = MAX_AGE_MS;
