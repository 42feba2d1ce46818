'use strict';

const { Backoff } = require('../../base/backoff');

/** @typedef {import('../../settings/broker-url').Address} Address */
/** @typedef {import('../session/reason-codes').Reason} Reason */

/**
 * @typedef {object} ChoiceParts
 * @property {number} reconnectMinMs of a URL that did not answer
 * @property {number} reconnectMaxMs
 * @property {number} refusedMinMs of a URL that refuses this client, which needs a human decision
 * @property {number} refusedMaxMs
 * @property {() => number} [now] ms, monotonic
 * @property {() => number} [random] 0..1
 * @property {boolean} [follows] does not choose: the session stays with its URL until goTo()
 * @property {(index: number) => void} [onConnected]
 * @property {(index: number, why: Reason) => void} [onFailed]
 */

/**
 * What a session knows of a URL.
 * @typedef {object} Place
 * @property {Address} address
 * @property {Backoff} quick
 * @property {Backoff} slow
 * @property {number} dueAt earliest time of the next attempt; -Infinity = it was not tried since the last connection
 *   that lasted
 * @property {number} refusedAt when the broker refused this client, -Infinity = not since it was last connected there
 */

/** A URL other than the last one gets no more than this to answer, while a URL is left that was not tried. */
const FIRST_ROUND_MS = 5000;
/** URLs that are due within this time of each other are tried together: a lost network must not change the order. */
const ROUND_MS = 5000;
const UNTRIED = -Infinity;

/**
 * Chooses the URL of a session's next attempt. The session stays with a URL as long as its connections succeed. After
 * a failure it tries each other URL once, in the order of priority and without a delay. After that round, each URL has
 * a back-off of its own. URLs that are due at about the same time form the next round, so one that refuses the login
 * does not delay the others.
 */
class UrlChoice {
  #parts;
  #now;
  /** @type {Place[]} */
  #places;
  /** The URLs that are left to try in this round. @type {number[]} */
  #round;

  /** @param {Address[]} addresses in the order of priority, at least one @param {ChoiceParts} parts */
  constructor(addresses, parts) {
    const { reconnectMinMs, reconnectMaxMs, refusedMinMs, refusedMaxMs } = parts;
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#places = addresses.map((address) => ({
      address,
      quick: new Backoff(reconnectMinMs, reconnectMaxMs, parts.random),
      slow: new Backoff(refusedMinMs, refusedMaxMs, parts.random),
      dueAt: UNTRIED,
      refusedAt: -Infinity
    }));
    this.#round = [...this.#places.keys()];
    /** The URL of the present connection, or of the next attempt. */
    this.index = 0;
  }

  get address() {
    return this.#places[this.index].address;
  }

  get hasSeveral() {
    return this.#places.length > 1;
  }

  /** Returns the time limit of the next attempt. @param {number} timeoutMs of an attempt without another URL */
  limitMs(timeoutMs) {
    const isFirstRound = this.#places.some(({ dueAt }, i) => i !== this.index && dueAt === UNTRIED);
    return isFirstRound && !this.#parts.follows ? Math.min(timeoutMs, FIRST_ROUND_MS) : timeoutMs;
  }

  /** Returns when the broker of a URL refused this client; -Infinity = it did not. @param {number} index */
  refusedAt(index) {
    return this.#places[index].refusedAt;
  }

  /** Forgets that the broker of a URL refused this client. @param {number} index */
  forgive(index) {
    this.#places[index].refusedAt = -Infinity;
  }

  /** The broker has accepted the client. */
  accepted() {
    this.#places[this.index].slow.reset();
  }

  /** The connection can be used. */
  connected() {
    this.forgive(this.index);
    this.#parts.onConnected?.(this.index);
  }

  /** The connection has lasted: the next failure begins a first round. */
  lasted() {
    for (const place of this.#places) {
      place.quick.reset();
      place.dueAt = UNTRIED;
    }
    this.#round = [...this.#places.keys()];
  }

  /**
   * The connection has ended, which is not the fault of its URL.
   * @returns {number} delay of the next attempt, which is at the same URL, ms
   */
  lost() {
    return this.#places[this.index].quick.next();
  }

  /**
   * The URL does not work: an attempt failed, or the broker was silent.
   * @param {Reason} why
   * @returns {number} delay of the next attempt, ms
   */
  failed(why) {
    const now = this.#now();
    const place = this.#places[this.index];
    const waitMs = (why.slow ? place.slow : place.quick).next();
    place.dueAt = now + waitMs;
    if (why.slow) place.refusedAt = now;
    this.#parts.onFailed?.(this.index, why);
    if (this.#parts.follows || !this.hasSeveral) return waitMs;
    this.#round = this.#round.filter((index) => index !== this.index);
    const nextMs = this.#round.length > 0 ? 0 : this.#nextRound(now);
    [this.index] = this.#round;
    return nextMs;
  }

  /** Begins a round, of the URLs that are due, or will be at about the same time. @param {number} now */
  #nextRound(now) {
    const dues = this.#places.map(({ dueAt }) => dueAt);
    const least = Math.min(...dues);
    const until = least <= now ? now : least + ROUND_MS;
    this.#round = [...dues.keys()].filter((index) => dues[index] <= until);
    const last = Math.max(...this.#round.map((index) => dues[index]));
    return Math.max(0, Math.round(last - now));
  }

  /** All delays begin again. */
  reset() {
    this.lasted();
    for (const { slow } of this.#places) slow.reset();
  }

  /**
   * The next attempt is at this URL. If it fails, the next one is at the URL that the session leaves.
   * @param {number} index
   */
  goTo(index) {
    const now = this.#now();
    const left = this.index;
    this.reset();
    this.#round = [left, ...this.#round.filter((each) => each !== left)];
    for (const [i, place] of this.#places.entries()) if (i !== left) place.dueAt = now;
    this.index = index;
  }
}

exports.UrlChoice = UrlChoice;
