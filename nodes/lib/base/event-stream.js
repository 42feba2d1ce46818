'use strict';
// One connection with server-sent events (HTML Standard, section 9.2). What a slow client must not cost is up to the
// owner: it asks before it makes an event whether the client is ready, how much waits, or for how long it is blocked.

const { once } = require('node:events');

const EVENT_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // nginx would collect the events.
  'X-Accel-Buffering': 'no'
};

/** @typedef {{ id?: number, event?: string, data: string }} Event data: without line feeds, as JSON.stringify makes it */

class EventStream {
  #response;
  #now;
  #blockedAt = -1;
  #missedBeats = 0;

  /**
   * @param {import('node:http').ServerResponse} response whose head was written
   * @param {{ onClose?: () => void, now?: () => number }} [options] now: ms, monotonic
   */
  constructor(response, { onClose = () => {}, now = () => performance.now() } = {}) {
    this.#response = response;
    this.#now = now;
    response.flushHeaders();
    response.on('close', onClose);
    // A connection that breaks ends with 'close', too.
    response.on('error', () => {});
  }

  /** True if the client has taken the events so far. Otherwise the next one would be queued. */
  get isReady() {
    return !this.#response.writableNeedDrain;
  }

  get isEnded() {
    return this.#response.writableEnded;
  }

  /** Bytes that wait for the client. */
  get waitingBytes() {
    return this.#response.writableLength;
  }

  /** Returns the time in ms since the first call that found the client not ready, 0 = it is ready. */
  blockedMs() {
    if (this.isReady) this.#blockedAt = -1;
    else if (this.#blockedAt < 0) this.#blockedAt = this.#now();
    return this.#blockedAt < 0 ? 0 : this.#now() - this.#blockedAt;
  }

  /** @param {Event} event */
  send(event) {
    this.#response.write(textOf(event));
  }

  /**
   * Sends a comment, which keeps proxies from closing the connection, and finds clients that have gone.
   * @returns {number} consecutive calls that found the client not ready; these send nothing
   */
  beat() {
    if (!this.isReady) return ++this.#missedBeats;
    this.#missedBeats = 0;
    this.#response.write(':\n\n');
    return 0;
  }

  /**
   * Waits until the client has taken what waits. Rejects if that takes too long, or if the client has gone.
   * @param {number} limitMs
   * @returns {Promise<void>}
   */
  async drained(limitMs) {
    const response = this.#response;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(limitMs)]);
    const gone = once(response, 'close', { signal }).then(() =>
      Promise.reject(new Error('The client has gone.'))
    );
    try {
      await Promise.race([once(response, 'drain', { signal }), gone]);
    } finally {
      over.abort();
    }
  }

  /** Ends the stream after these events. @param {Event[]} [last] */
  end(last = []) {
    this.#response.end(last.map(textOf).join(''));
  }

  /** Closes the connection at once. */
  destroy() {
    this.#response.destroy();
  }
}

/** @param {Event} event @returns {string} */
function textOf({ id, event, data }) {
  const name = event === undefined ? '' : `event: ${event}\n`;
  const number = id === undefined ? '' : `id: ${id}\n`;
  return `${name}${number}data: ${data}\n\n`;
}

module.exports = { EVENT_HEADERS, EventStream };
