'use strict';

/** Reason codes of a PUBACK that a person has to look at [MQTT 3.4.2.1]: the same record will be refused again. */
const FINAL = [0x87, 0x90, 0x95, 0x99];
const MAX_TRIES = 5;
const QUOTA_MIN_MS = 1000;
const QUOTA_MAX_MS = 60000;

/** @param {number} code */
function isFinal(code) {
  return FINAL.includes(code);
}

/**
 * What becomes of a record that the broker refuses. One that it will never take is tried five times, and then given up if the broker took
 * another one since the first try. While it takes none at all, the records are not the reason but the rights of this client:
 * all are kept and tried again, later each time. Any
 * other (an error of its own, a code we do not know; for a quota see quota.js) is kept for ever and tried again, later each time; meanwhile the
 * broker is sent less: each refusal halves what may be in flight, each acknowledgement adds one.
 */
class Refusals {
  /** @param {import('./in-flight-window').Window} window @param {number} retryMs between the tries of a record that is refused for good */
  constructor(window, retryMs) {
    this.window = window;
    /** Packets that the broker took. */
    this.takenCount = 0;
    /** The reason code for which the broker takes nothing, 0 = it takes some. */
    this.allRefused = 0;
    this.retryMs = retryMs;
    /** PUBACKs with a reason code of 0x80 or more. */
    this.count = 0;
    /** The last reason code of a record that is kept. */
    this.code = 0;
  }

  /** A packet is kept. @param {number} code */
  keep(code) {
    this.count++;
    this.code = code;
  }

  /**
   * @param {number} code @param {number} tries with this one @param {number} since takenCount at its first refusal
   * @returns {number} ms until the next try, -1 = none
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

  /** The broker took a packet. */
  taken() {
    const { window } = this;
    this.takenCount++;
    this.allRefused = 0;
    if (window.ceiling === Infinity) return;
    window.ceiling++;
    if (window.ceiling >= window.limit) window.ceiling = Infinity;
  }
}

module.exports = { Refusals, MAX_TRIES, isFinal };
