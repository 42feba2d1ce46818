'use strict';

const { Backoff } = require('../../base/backoff');

const MIN_MS = 250;
const MAX_MS = 5000;

/** A keeper that does not answer, and when it is asked again. */
class KeeperOutage {
  #backoff = new Backoff(MIN_MS, MAX_MS);
  #retryAt = 0;
  /** Why the keeper cannot be asked, '' = it can. */
  problem = '';

  /** The keeper did not answer. @param {string} problem @param {number} now ms, monotonic */
  failed(problem, now) {
    if (!this.problem) this.#backoff.reset();
    this.problem = problem;
    this.#retryAt = now + this.#backoff.next();
  }

  /** The keeper may be back: it is asked at once. */
  retry() {
    this.#retryAt = 0;
  }

  /** The keeper answered. */
  ended() {
    this.problem = '';
  }

  /** True if the keeper must not be asked yet. @param {number} now ms, monotonic */
  isResting(now) {
    return this.problem !== '' && now < this.#retryAt;
  }
}

exports.KeeperOutage = KeeperOutage;
