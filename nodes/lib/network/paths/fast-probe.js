'use strict';
// Limits fast probes, which are sent because a user of a path reports silence: how often they may be sent, and how long
// an answer may take. Pure: the caller provides the clock.

/** Shortest time-out: the machine at either end may be busy for this long. */
const LEAST_MS = 150;
/** Factor for the usual answer time: it varies, and an idle line wakes up slowly. */
const ROUND_TRIPS = 3;
/** Most fast probes in a row; in the long run, they are no more frequent than normal probes. */
const MOST_IN_A_ROW = 5;

class FastProbe {
  #everyMs;
  #patienceMs;
  #left;
  #countedAt;
  /** Answer times, smoothed as in RFC 6298; -1 = there was none. */
  #smoothedMs;
  #spreadMs;

  /** @param {{ everyMs: number, timeoutMs: number }} settings of probes @param {number} now ms */
  constructor({ everyMs, timeoutMs }, now) {
    this.#everyMs = everyMs;
    this.#patienceMs = timeoutMs;
    this.#left = MOST_IN_A_ROW;
    this.#countedAt = now;
    this.#smoothedMs = -1;
    this.#spreadMs = 0;
    /** Time-out of the present fast probe, 0 = there is none. */
    this.timeoutMs = 0;
  }

  get isOn() {
    return this.timeoutMs > 0;
  }

  /** @param {number} ms that an answer took */
  answered(ms) {
    if (this.#smoothedMs < 0) {
      this.#smoothedMs = ms;
      this.#spreadMs = ms / 2;
      return;
    }
    this.#spreadMs += (Math.abs(ms - this.#smoothedMs) - this.#spreadMs) / 4;
    this.#smoothedMs += (ms - this.#smoothedMs) / 8;
  }

  /**
   * Begins a fast probe, if permitted.
   * @param {number} rttMs round trip known to the user of the path: it may be longer than ours, behind a full queue
   * @param {number} now
   * @returns {boolean} true if it begins
   */
  begin(rttMs, now) {
    if (this.isOn) return false;
    this.#left = Math.min(MOST_IN_A_ROW, this.#left + (now - this.#countedAt) / this.#everyMs);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    const known = Math.max(ROUND_TRIPS * this.#smoothedMs, this.#smoothedMs + 4 * this.#spreadMs);
    const ms = Math.max(LEAST_MS, known, ROUND_TRIPS * rttMs);
    this.timeoutMs = Math.min(this.#patienceMs, this.#smoothedMs < 0 ? Infinity : Math.ceil(ms));
    return true;
  }

  end() {
    this.timeoutMs = 0;
  }
}

module.exports = { FastProbe };
