'use strict';
// Server-sent events (HTML Standard, section 9.2): the notifications of one observation.

/** A client that takes no bytes for this number of heartbeats has gone. */
const MOST_STALLED = 3;
/** Time for the last event to leave. */
const END_MS = 5000;

class EventStream {
  #socket;
  #onEnd;
  #timer;
  /** @type {import('node:http').ServerResponse | null} */
  #response = null;
  /** An event that waits until the client takes bytes again. Only the latest value counts. */
  #held = '';
  #last = '';
  #stalled = 0;
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
    this.#response = response;
    response.flushHeaders();
    response.on('drain', () => this.#flush());
    this.#flush();
  }

  /** @param {string} data in one line */
  push(data) {
    if (this.#isOver) return;
    this.#held = `id: ${++this.#count}\ndata: ${data}\n\n`;
    this.#flush();
  }

  /** Ends the stream with an event that gives the reason. @param {number} status of HTTP @param {string} error */
  end(status, error) {
    if (this.#isOver) return;
    this.#last = `event: end\ndata: ${JSON.stringify({ status, error })}\n\n`;
    this.#close();
    this.#flush();
  }

  #flush() {
    const response = this.#response;
    if (!response || response.writableEnded) return;
    if (this.#last) {
      response.end(this.#held + this.#last);
      setTimeout(() => response.destroy(), END_MS).unref();
      return;
    }
    if (this.#held === '' || response.writableNeedDrain) return;
    const text = this.#held;
    this.#held = '';
    response.write(text);
  }

  /** A comment keeps proxies from closing the connection, and finds clients that have gone. */
  #beat() {
    const response = this.#response;
    if (!response) return;
    if (!response.writableNeedDrain) {
      this.#stalled = 0;
      response.write(':\n\n');
    } else if (++this.#stalled >= MOST_STALLED) response.destroy();
  }

  #close() {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#socket.off('close', this.#gone);
    this.#onEnd();
  }
}

exports.EventStream = EventStream;
