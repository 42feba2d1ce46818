'use strict';
// One connection of the live stream (server-sent events).

/** A viewer that takes nothing for this long is disconnected, ms. */
const MAX_BLOCKED_MS = 30000;
/** A connection ends after this long, ms. The page connects again, so that a login that ended has an effect. */
const MAX_AGE_MS = 600000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // nginx would collect the events.
  'X-Accel-Buffering': 'no'
};

/** @typedef {import('./live-query').LiveQuery} LiveQuery */

class Viewer {
  #response;
  #since;
  #blockedAt;

  /**
   * @param {import('node:http').ServerResponse} response
   * @param {LiveQuery} query
   * @param {number} now ms
   */
  constructor(response, query, now) {
    this.#response = response;
    this.query = query;
    /** True: the login may also change something. */
    this.mayWrite = true;
    this.#since = now;
    this.#blockedAt = -1;
    /** Points of the history that were sent, by the id of their engine. */
    this.history = '';
    response.writeHead(200, HEADERS);
    response.flushHeaders();
  }

  /**
   * Returns whether the viewer can take an event now. One that has not taken the previous events gets none, so nothing
   * is queued for it, and its next event is the newest.
   * @param {number} now ms
   */
  isReady(now) {
    if (!this.#response.writableNeedDrain) {
      this.#blockedAt = -1;
      return true;
    }
    if (this.#blockedAt < 0) this.#blockedAt = now;
    return false;
  }

  /** @param {number} now ms @returns {boolean} true if the connection must end */
  isOver(now) {
    const isStuck = this.#blockedAt >= 0 && now - this.#blockedAt > MAX_BLOCKED_MS;
    return isStuck || now - this.#since > MAX_AGE_MS;
  }

  /** @param {string} event @param {string} json without line feeds, as JSON.stringify makes it */
  send(event, json) {
    this.#response.write(`event: ${event}\ndata: ${json}\n\n`);
  }

  /** @param {number} now ms */
  end(now) {
    // A viewer that takes nothing would not take the end either.
    if (this.isReady(now)) this.#response.end();
    else this.#response.destroy();
  }
}

exports.Viewer = Viewer;
exports.MAX_BLOCKED_MS = MAX_BLOCKED_MS;
exports.MAX_AGE_MS = MAX_AGE_MS;
