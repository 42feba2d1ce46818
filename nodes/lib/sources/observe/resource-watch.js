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
 * @property {number} intervalMs
 * @property {() => Promise<Link>} open
 * @property {(payload: Buffer, done: () => void) => void} value calls done when the engine has the value
 * @property {(reason: string) => void} [trouble] called at the first of consecutive failures
 * @property {() => number} [now] ms
 * @property {() => number} [random]
 * @property {number} [marginMs] shortest delay after the end of Max-Age
 */

class Watch {
  #options;
  #now;
  #random;
  #backoff;
  /** @type {Link | null} */
  #link;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {{ number: number, at: number } | null} the newest notification */
  #newest;
  /** Values that the engine has not accepted yet. */
  #waiting;
  #begunAt;
  #stopped;

  /** @param {WatchOptions} options */
  constructor(options) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS, this.#random);
    /** @type {'starting' | 'observing' | 'polling' | 'failing'} */
    this.state = 'starting';
    /** Why it fails. */
    this.reason = '';
    this.#link = null;
    this.#timer = undefined;
    this.#newest = null;
    this.#waiting = 0;
    this.#begunAt = 0;
    this.#stopped = false;
    this.#begin();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#link?.close();
    this.#link = null;
  }

  /** Starts a request. An error counts as a failure of the resource. */
  #begin() {
    this.#ask().catch((error) => this.#fail(error.message));
  }

  /** @returns {Promise<void>} */
  async #ask() {
    clearTimeout(this.#timer);
    // While the engine has not accepted the last value, another poll would only grow the queue.
    if (this.#waiting > 0 && this.state === 'polling') return this.#later(this.#options.intervalMs);
    this.#begunAt = this.#now();
    try {
      this.#link ??= await this.#options.open();
    } catch (error) {
      const { code, message } = asError(error);
      return this.#fail(code ? reasonOf(code) : message);
    }
    const link = this.#link;
    if (this.#stopped) return link.close();
    let first = true;
    link.ask(this.#options.mode === 'observe', {
      answer: (answer) => {
        if (first) this.#onFirst(answer);
        else this.#onNotification(answer);
        first = false;
      },
      failed: (error) => this.#fail(error.message)
    });
  }

  /** @param {Answer} answer */
  #onFirst(answer) {
    const { code, observe, maxAgeS } = answer;
    if (!code.startsWith('2.')) return this.#refused(code, maxAgeS);
    this.#backoff.reset();
    this.reason = '';
    const registered = this.#options.mode === 'observe' && observe !== undefined;
    this.state = registered ? 'observing' : 'polling';
    this.#newest = registered ? { number: observe, at: this.#now() } : null;
    if (registered) this.#expectWithin(maxAgeS);
    // Not observable now: request an observation again at each poll.
    else this.#later(Math.max(0, this.#begunAt + this.#options.intervalMs - this.#now()));
    this.#tell(answer);
  }

  /** @param {Answer} answer */
  #onNotification(answer) {
    const { code, observe, blocks, maxAgeS } = answer;
    // An error is the last notification (RFC 7641, 4.2).
    if (!code.startsWith('2.')) return this.#refused(code, maxAgeS);
    const now = this.#now();
    if (observe !== undefined) {
      const current = { number: observe, at: now };
      if (this.#newest && !isFresher(this.#newest, current)) return;
      this.#newest = current;
    } else if (!blocks) {
      // A response without a number is not a notification: the device ended the observation (3.2).
      this.state = 'polling';
      this.#later(this.#options.intervalMs);
      return this.#tell(answer);
    }
    this.#expectWithin(maxAgeS);
    this.#tell(answer);
  }

  /** @param {string} code @param {number} maxAgeS */
  #refused(code, maxAgeS) {
    const waits = code === '5.03' || code === '4.29';
    // Max-Age is the time until the next attempt (RFC 7252, 5.9.3.4).
    this.#fail(CODES[code] ?? code, waits ? Math.min(Math.max(maxAgeS, 1), WAIT_MAX_S) * 1000 : undefined);
  }

  /** @param {number} maxAgeS */
  #expectWithin(maxAgeS) {
    const { marginMs = MARGIN_MIN_MS } = this.#options;
    const margin = marginMs + MARGIN_SPREAD_MS * this.#random();
    this.#later(Math.min(maxAgeS, MAX_AGE_MAX_S) * 1000 + margin);
  }

  /** @param {Answer} answer */
  #tell({ payload }) {
    this.#waiting++;
    this.#options.value(payload, () => this.#waiting--);
  }

  /** @param {string} reason @param {number} [waitMs] */
  #fail(reason, waitMs = this.#backoff.next()) {
    if (this.#stopped) return;
    const isNew = this.state !== 'failing' || this.reason !== reason;
    this.state = 'failing';
    this.reason = reason;
    // The next attempt uses a new local port, so late packets for the old one are dropped.
    this.#link?.close();
    this.#link = null;
    this.#later(waitMs);
    if (isNew) this.#options.trouble?.(reason);
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => this.#begin(), ms);
  }
}

exports.Watch = Watch;
