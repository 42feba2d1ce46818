'use strict';

const { networkOf } = require('../../login/failed-attempts');
const { Refusal } = require('./refusal');

const MOST_FAILURES = 10;
const WINDOW_MS = 60000;
const MOST_ADDRESSES = 10000;

/** Limits wrong sign-ups, sign-ins and refreshes of an address. */
class Attempts {
  #now;
  /** Times of the last failures, oldest first; least recent address first. @type {Map<string, number[]>} */
  #byAddress = new Map();
  /** Wrong attempts, and attempts that were not checked because of the limit, since the start. */
  wrong = 0;
  limited = 0;

  /** @param {() => number} now ms */
  constructor(now) {
    this.#now = now;
  }

  /**
   * @param {string} address such as 192.0.2.7:40312
   * @throws {Refusal} 4.29 after too many failures, for a right attempt, too: otherwise the answers help to guess
   */
  check(address) {
    const times = this.#recent(networkOf(address));
    if (times.length < MOST_FAILURES) return;
    this.limited++;
    const seconds = Math.ceil((times[0] + WINDOW_MS - this.#now()) / 1000);
    throw new Refusal('4.29', `There were too many wrong attempts. Try again in ${seconds} s.`, seconds);
  }

  /** @param {string} address */
  failed(address) {
    this.wrong++;
    const network = networkOf(address);
    const times = this.#recent(network);
    this.#byAddress.delete(network);
    this.#byAddress.set(network, [...times, this.#now()].slice(-MOST_FAILURES));
    if (this.#byAddress.size <= MOST_ADDRESSES) return;
    const [oldest] = this.#byAddress.keys();
    this.#byAddress.delete(oldest);
  }

  /** @param {string} network */
  #recent(network) {
    const since = this.#now() - WINDOW_MS;
    return (this.#byAddress.get(network) ?? []).filter((time) => time > since);
  }
}

module.exports = { Attempts, MOST_FAILURES, WINDOW_MS };
