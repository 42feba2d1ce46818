'use strict';
// When a path is asked in haste, since somebody who uses it hears nothing: how often that may be, and how long an answer may take then. Pure: the clock
// is the caller's.

/** Nothing is called silent sooner: the machine at either end may be busy for so long. */
const LEAST_MS = 150;
/** Of what answers take: they vary, and a line that has slept wakes up slowly. */
const ROUND_TRIPS = 3;
/** So many times in a row; in the long run no more often than it is asked anyway. */
const MOST_IN_A_ROW = 5;

class Haste {
  /** @param {{ everyMs: number, timeoutMs: number }} settings of probes @param {number} now ms */
  constructor({ everyMs, timeoutMs }, now) {
    this.everyMs_ = everyMs;
    this.patienceMs_ = timeoutMs;
    this.left_ = MOST_IN_A_ROW;
    this.countedAt_ = now;
    /** Of answers, as RFC 6298 has it of round trips; -1 = there was none. */
    this.smoothedMs_ = -1;
    this.spreadMs_ = 0;
    /** 0 = there is none. */
    this.timeoutMs = 0;
  }

  get isOn() {
    return this.timeoutMs > 0;
  }

  /** @param {number} ms that an answer took */
  answered(ms) {
    if (this.smoothedMs_ < 0) {
      this.smoothedMs_ = ms;
      this.spreadMs_ = ms / 2;
      return;
    }
    this.spreadMs_ += (Math.abs(ms - this.smoothedMs_) - this.spreadMs_) / 4;
    this.smoothedMs_ += (ms - this.smoothedMs_) / 8;
  }

  /**
   * @param {number} rttMs that they know of who ask for it: it may be longer than ours, behind a full queue @param {number} now
   * @returns {boolean} whether it begins
   */
  begin(rttMs, now) {
    if (this.isOn) return false;
    this.left_ = Math.min(MOST_IN_A_ROW, this.left_ + (now - this.countedAt_) / this.everyMs_);
    this.countedAt_ = now;
    if (this.left_ < 1) return false;
    this.left_--;
    const known = Math.max(ROUND_TRIPS * this.smoothedMs_, this.smoothedMs_ + 4 * this.spreadMs_);
    const ms = Math.max(LEAST_MS, known, ROUND_TRIPS * rttMs);
    this.timeoutMs = Math.min(this.patienceMs_, this.smoothedMs_ < 0 ? Infinity : Math.ceil(ms));
    return true;
  }

  end() {
    this.timeoutMs = 0;
  }
}

module.exports = { Haste };
