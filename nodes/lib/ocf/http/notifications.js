'use strict';
// The notifications of one observation as server-sent events. Only the latest value waits for a slow client.

const { EventStream } = require('../../base/event-stream');

/** A client that takes no bytes for this number of heartbeats has gone. */
const MOST_STALLED = 3;
/** Time for the last event to leave. */
const END_MS = 5000;

/** @typedef {import('../../base/event-stream').Event} Event */

class Notifications {
  #socket;
  #onEnd;
  #timer;
  /** @type {InstanceType<typeof EventStream> | null} */
  #events = null;
  /** An event that waits until the client takes bytes again. @type {Event | null} */
  #held = null;
  /** @type {Event | null} */
  #last = null;
  #count = 0;
  #isOver = false;
  #gone = () => this.#close();

  /**
   * @param {import('node:net').Socket} socket of the client
   * @param {number} heartbeatMs
   * @param {() => void} onEnd called once, when the stream ends for whatever reason
   */
  constructor(socket, heartbeatMs, onEnd) {
    this.#socket = socket;
    this.#onEnd = onEnd;
    socket.once('close', this.#gone);
    this.#timer = setInterval(() => this.#beat(), heartbeatMs);
  }

  /** True if it has ended, also before attach(). */
  get isOver() {
    return this.#isOver;
  }

  /** Starts to write. @param {import('node:http').ServerResponse} response whose head was written */
  attach(response) {
    this.#events = new EventStream(response);
    response.on('drain', () => this.#flush());
    this.#flush();
  }

  /** @param {string} data in one line */
  push(data) {
    if (this.#isOver) return;
    this.#held = { id: ++this.#count, data };
    this.#flush();
  }

  /** Ends the stream with an event that gives the reason. @param {number} status of HTTP @param {string} error */
  end(status, error) {
    if (this.#isOver) return;
    this.#last = { event: 'end', data: JSON.stringify({ status, error }) };
    this.#close();
    this.#flush();
  }

  #flush() {
    const [events, held, last] = [this.#events, this.#held, this.#last];
    if (!events || events.isEnded) return;
    if (last) {
      events.end(held ? [held, last] : [last]);
      setTimeout(() => events.destroy(), END_MS).unref();
    } else if (held && events.isReady) {
      this.#held = null;
      events.send(held);
    }
  }

  #beat() {
    const events = this.#events;
    if (events && events.beat() >= MOST_STALLED) events.destroy();
  }

  #close() {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#socket.off('close', this.#gone);
    this.#onEnd();
  }
}

exports.Notifications = Notifications;
