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
  /**
   * @param {{ status(shown: object): void }} node
   * @param {() => number} [now] ms
   */
  constructor(node, now = () => performance.now()) {
    this.node_ = node;
    this.now_ = now;
    this.sentAt_ = -Infinity;
    this.sent_ = '';
    /** @type {Shown | null} */
    this.next_ = null;
    /** @type {NodeJS.Timeout | null} */
    this.timer_ = null;
  }

  /** @param {Shown} shown */
  set(shown) {
    this.next_ = shown;
    if (this.timer_) return;
    const wait = this.sentAt_ + INTERVAL_MS - this.now_();
    if (wait <= 0) this.send_();
    else if (JSON.stringify(shown) !== this.sent_) this.timer_ = setTimeout(() => this.send_(), wait).unref();
  }

  /** @param {string} text */
  red(text) {
    this.set({ fill: 'red', shape: 'ring', text: shorten(text) });
  }

  /** Call it when the node is closed. No status follows. */
  close() {
    if (this.timer_) clearTimeout(this.timer_);
    this.timer_ = null;
    this.next_ = null;
  }

  send_() {
    this.timer_ = null;
    const text = JSON.stringify(this.next_);
    if (!this.next_ || text === this.sent_) return;
    this.sent_ = text;
    this.sentAt_ = this.now_();
    this.node_.status(this.next_);
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
