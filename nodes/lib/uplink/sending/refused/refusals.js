'use strict';

/** Reason codes of a PUBACK that need a human decision [MQTT 3.4.2.1]: the same record will be refused again. */
const FINAL = [0x87, 0x90, 0x95, 0x99];
const MAX_TRIES = 5;
const QUOTA_MIN_MS = 1000;
const QUOTA_MAX_MS = 60000;

/** @param {number} code */
function isFinal(code) {
  return FINAL.includes(code);
}

/**
 * Decides what happens to a record that the broker refuses. A permanently refused record is tried five times, and then
 * given up if the broker accepted another record since the first try. While the broker accepts none at all, the cause
 * is not the records but the rights of this client: all are kept and tried again, later each time.
 *
 * Any other refused record (an internal error of the broker, an unknown code; for a quota see broker-quota.js) is kept
 * indefinitely and tried again, later each time. Meanwhile the broker is sent less: each refusal halves what may be in
 * flight, each acknowledgement adds one.
 */
class Refusals {
  /**
   * @param {import('../in-flight-window').InFlightWindow} window
   * @param {number} retryMs time between the tries of a permanently refused record
   */
  constructor(window, retryMs) {
    this.window = window;
    /** Number of packets that the broker accepted. */
    this.takenCount = 0;
    /** The reason code with which the broker refuses everything, 0 = it accepts some packets. */
    this.allRefused = 0;
    this.retryMs = retryMs;
    /** PUBACKs with a reason code of 0x80 or more. */
    this.count = 0;
    /** The last reason code of a record that is kept. */
    this.code = 0;
  }

  /** Counts a refused packet that is kept. @param {number} code */
  keep(code) {
    this.count++;
    this.code = code;
  }

  /**
   * @param {number} code
   * @param {number} tries including this one
   * @param {number} since takenCount at its first refusal
   * @returns {number} time in ms until the next try, -1 = none
   */
  next(code, tries, since) {
    if (isFinal(code)) {
      this.count++;
      if (tries < MAX_TRIES) return this.retryMs;
      if (this.takenCount > since) return -1;
      this.allRefused = code;
      return Math.min(QUOTA_MAX_MS, this.retryMs * 2 ** Math.min(tries - MAX_TRIES, 6));
    }
    this.keep(code);
    const { window } = this;
    window.ceiling = Math.max(1, Math.floor(Math.min(window.ceiling, window.limit) / 2));
    return Math.min(QUOTA_MAX_MS, QUOTA_MIN_MS * 2 ** Math.min(tries - 1, 6));
  }

  /** The broker accepted a packet. @param {boolean} isHeld one packet at a time is sent meanwhile */
  taken(isHeld) {
    const { window } = this;
    this.takenCount++;
    this.allRefused = 0;
    if (isHeld || window.ceiling === Infinity) return;
    window.ceiling++;
    if (window.ceiling >= window.limit) window.ceiling = Infinity;
  }
}

module.exports = { Refusals, MAX_TRIES, isFinal };
