'use strict';
// Watches one resource of a device for the life of the node: observes it, or polls it at an interval. After a failure
// it starts again.

const { asError } = require('../../base/guard');
const { Backoff } = require('../../base/backoff');
const { isFresher } = require('./freshness');
const { reasonOf } = require('./coap-socket');

const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 60000;
/**
 * Delay after the end of Max-Age before we register again (RFC 7641, 3.3.1): clocks differ, notifications take time.
 */
const MARGIN_MIN_MS = 5000;
const MARGIN_SPREAD_MS = 10000;
const MAX_AGE_MAX_S = 86400;
/** Longest delay that a busy server may request. */
const WAIT_MAX_S = 3600;

/** For the status. @type {Record<string, string>} */
const CODES = {
  '0.00': 'reset by the device',
  4.01: '4.01 unauthorized',
  4.03: '4.03 forbidden',
  4.04: '4.04 not found',
  4.05: '4.05 method not allowed',
  4.06: '4.06 not acceptable',
  4.29: '4.29 too many requests',
  '5.00': '5.00 device error',
  5.03: '5.03 device busy'
};

/**
 * @typedef {import('./coap-peer').Answer} Answer
 *
 * @typedef {object} Link the part of Peer used here
 * @property {(observe: boolean, asked: import('./coap-peer').Asked) => void} ask
 * @property {() => void} close
 *
 * @typedef {object} WatchOptions
 * @property {'observe' | 'poll'} mode
 * @property {number} intervalS
 * @property {() => Promise<Link>} open
 * @property {(payload: Buffer, done: () => void) => void} value calls done when the engine has the value
 * @property {(reason: string) => void} [trouble] called at the first of consecutive failures
 * @property {() => number} [now] ms
 * @property {() => number} [random]
 * @property {number} [marginMs] shortest delay after the end of Max-Age
 */

class Watch {
  /** @param {WatchOptions} options */
  constructor(options) {
    this.options_ = options;
    this.now_ = options.now ?? (() => performance.now());
    this.random_ = options.random ?? Math.random;
    this.backoff_ = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS, this.random_);
    /** @type {'starting' | 'observing' | 'polling' | 'failing'} */
    this.state = 'starting';
    /** Why it fails. */
    this.reason = '';
    /** @type {Link | null} */
    this.link_ = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer_ = undefined;
    /** @type {{ number: number, at: number } | null} the newest notification */
    this.newest_ = null;
    /** Values that the engine has not accepted yet. */
    this.waiting_ = 0;
    this.begunAt_ = 0;
    this.stopped_ = false;
    this.begin_();
  }

  stop() {
    this.stopped_ = true;
    clearTimeout(this.timer_);
    this.link_?.close();
    this.link_ = null;
  }

  /** Starts a request. An error counts as a failure of the resource. */
  begin_() {
    this.ask_().catch((error) => this.fail_(error.message));
  }

  /** @returns {Promise<void>} */
  async ask_() {
    clearTimeout(this.timer_);
    // While the engine has not accepted the last value, another poll would only grow the queue.
    if (this.waiting_ > 0 && this.state === 'polling') return this.later_(this.options_.intervalS * 1000);
    this.begunAt_ = this.now_();
    try {
      this.link_ ??= await this.options_.open();
    } catch (error) {
      const { code, message } = asError(error);
      return this.fail_(code ? reasonOf(code) : message);
    }
    const link = this.link_;
    if (this.stopped_) return link.close();
    let first = true;
    link.ask(this.options_.mode === 'observe', {
      answer: (answer) => {
        if (first) this.onFirst_(answer);
        else this.onNotification_(answer);
        first = false;
      },
      failed: (error) => this.fail_(error.message)
    });
  }

  /** @param {Answer} answer */
  onFirst_(answer) {
    const { code, observe, maxAgeS } = answer;
    if (!code.startsWith('2.')) return this.refused_(code, maxAgeS);
    this.backoff_.reset();
    this.reason = '';
    const registered = this.options_.mode === 'observe' && observe !== undefined;
    this.state = registered ? 'observing' : 'polling';
    this.newest_ = registered ? { number: observe, at: this.now_() } : null;
    if (registered) this.expectWithin_(maxAgeS);
    // Not observable now: request an observation again at each poll.
    else this.later_(Math.max(0, this.begunAt_ + this.options_.intervalS * 1000 - this.now_()));
    this.tell_(answer);
  }

  /** @param {Answer} answer */
  onNotification_(answer) {
    const { code, observe, blocks, maxAgeS } = answer;
    // An error is the last notification (RFC 7641, 4.2).
    if (!code.startsWith('2.')) return this.refused_(code, maxAgeS);
    const now = this.now_();
    if (observe !== undefined) {
      const current = { number: observe, at: now };
      if (this.newest_ && !isFresher(this.newest_, current)) return;
      this.newest_ = current;
    } else if (!blocks) {
      // A response without a number is not a notification: the device ended the observation (3.2).
      this.state = 'polling';
      this.later_(this.options_.intervalS * 1000);
      return this.tell_(answer);
    }
    this.expectWithin_(maxAgeS);
    this.tell_(answer);
  }

  /** @param {string} code @param {number} maxAgeS */
  refused_(code, maxAgeS) {
    const waits = code === '5.03' || code === '4.29';
    // Max-Age is the time until the next attempt (RFC 7252, 5.9.3.4).
    this.fail_(CODES[code] ?? code, waits ? Math.min(Math.max(maxAgeS, 1), WAIT_MAX_S) * 1000 : undefined);
  }

  /** @param {number} maxAgeS */
  expectWithin_(maxAgeS) {
    const { marginMs = MARGIN_MIN_MS } = this.options_;
    const margin = marginMs + MARGIN_SPREAD_MS * this.random_();
    this.later_(Math.min(maxAgeS, MAX_AGE_MAX_S) * 1000 + margin);
  }

  /** @param {Answer} answer */
  tell_({ payload }) {
    this.waiting_++;
    this.options_.value(payload, () => this.waiting_--);
  }

  /** @param {string} reason @param {number} [waitMs] */
  fail_(reason, waitMs = this.backoff_.next()) {
    if (this.stopped_) return;
    const isNew = this.state !== 'failing' || this.reason !== reason;
    this.state = 'failing';
    this.reason = reason;
    // The next attempt uses a new local port, so late packets for the old one are dropped.
    this.link_?.close();
    this.link_ = null;
    this.later_(waitMs);
    if (isNew) this.options_.trouble?.(reason);
  }

  /** @param {number} ms */
  later_(ms) {
    clearTimeout(this.timer_);
    if (!this.stopped_) this.timer_ = setTimeout(() => this.begin_(), ms);
  }
}

exports.Watch = Watch;
