'use strict';
// A node's status. Changes are sent at most once a second, and the latest one is always sent.

const INTERVAL_MS = 1000;
/** The canvas has no room for more. */
const MAX_CHARACTERS = 48;

/**
 * @typedef {'red' | 'green' | 'yellow' | 'blue' | 'grey'} Fill
 * @typedef {{ fill: Fill, shape: 'dot' | 'ring', text: string }} Shown
 */

class Status {
  #node;
  #now;
  #sentAt;
  #sent;
  /** @type {Shown | null} */
  #next;
  /** @type {NodeJS.Timeout | null} */
  #timer;
  #isClosed;

  /**
   * @param {{ status(shown: object): void }} node
   * @param {() => number} [now] ms
   */
  constructor(node, now = () => performance.now()) {
    this.#node = node;
    this.#now = now;
    this.#sentAt = -Infinity;
    this.#sent = '';
    this.#next = null;
    this.#timer = null;
    this.#isClosed = false;
  }

  /** Has no effect after close(). @param {Shown} shown */
  set(shown) {
    if (this.#isClosed) return;
    this.#next = shown;
    if (this.#timer) return;
    const wait = this.#sentAt + INTERVAL_MS - this.#now();
    if (wait <= 0) this.#send();
    else if (JSON.stringify(shown) !== this.#sent) this.#timer = setTimeout(() => this.#send(), wait).unref();
  }

  /** @returns {Shown | null} the latest one */
  get shown() {
    return this.#next;
  }

  /** @param {string} text */
  red(text) {
    this.set({ fill: 'red', shape: 'ring', text: shorten(text) });
  }

  /** Call it when the node is closed. No status follows. */
  close() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#next = null;
    this.#isClosed = true;
  }

  #send() {
    this.#timer = null;
    const text = JSON.stringify(this.#next);
    if (!this.#next || text === this.#sent) return;
    this.#sent = text;
    this.#sentAt = this.#now();
    this.#node.status(this.#next);
  }
}

/**
 * @param {string} text
 * @param {string} [tail] never cut
 * @returns {string} text that fits on the canvas
 */
function shorten(text, tail = '') {
  const room = MAX_CHARACTERS - tail.length;
  return (text.length <= room ? text : `${text.slice(0, room - 1)}…`) + tail;
}

/**
 * @param {number} amount a rate per second, or a count
 * @returns {string} such as 640, 12.3 k, 1.2 M
 */
function rate(amount) {
  if (amount < 9999.5) return String(Math.round(amount));
  if (amount < 999950) return `${(amount / 1e3).toFixed(1)} k`;
  return `${(amount / 1e6).toFixed(1)} M`;
}

exports.Status = Status;
exports.shorten = shorten;
exports.rate = rate;
