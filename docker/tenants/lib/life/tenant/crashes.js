'use strict';

/** Waits after the first failures in a row, ms. After one more, the tenant starts only if a person wakes it. */
const WAITS_MS = [1000, 7000, 45_000, 300_000];
const MAX_FAILURES = WAITS_MS.length + 1;
/** A tenant that ran for this time was healthy: its earlier failures no longer count. */
const HEALTHY_MS = 60_000;
/** Retry time of a request for a tenant that stays down. */
const FAILED_RETRY_MS = 300_000;

/** Counts the failures of one tenant, and computes when it may start again. */
class Crashes {
  #clock;
  #count = 0;
  #allowedAt = 0;

  /** @param {import('../../base/clock').Clock} clock */
  constructor(clock) {
    this.#clock = clock;
  }

  get count() {
    return this.#count;
  }

  get isFinal() {
    return this.#count >= MAX_FAILURES;
  }

  /** @returns {number} ms until the next start is allowed */
  get waitMs() {
    return this.isFinal ? FAILED_RETRY_MS : Math.max(0, Math.ceil(this.#allowedAt - this.#clock.now()));
  }

  /** @param {number} ranMs time for which it was ready; 0 = it did not become ready */
  add(ranMs) {
    if (ranMs >= HEALTHY_MS) this.#count = 0;
    this.#count = Math.min(this.#count + 1, MAX_FAILURES);
    this.#allowedAt = this.#clock.now() + (WAITS_MS[this.#count - 1] ?? 0);
  }

  /** The tenant starts only if a person wakes it. */
  giveUp() {
    this.#count = MAX_FAILURES;
  }

  forget() {
    this.#count = 0;
    this.#allowedAt = 0;
  }
}

exports.Crashes = Crashes;
exports.MAX_FAILURES = MAX_FAILURES;
exports.HEALTHY_MS = HEALTHY_MS;
