'use strict';

/** Up to this many records a second nothing is delayed. */
const QUIET_RATE = 2000;
/** From this many on turns begin so far apart; between the two it rises evenly. */
const BUSY_RATE = 6000;
const BUSY_MS = 2;
/** The rate is that of the last so many ms, so what comes after a pause finds a quiet one. */
const WINDOW_MS = 50;
/** Shorter costs more than it saves. */
const LEAST_NAP_MS = 0.1;

/**
 * Interrupt moderation of the uplink thread: a wake-up costs several times what a PUBLISH costs, so under load a turn of the loop
 * ends with a nap, and the next one serves the doorbells and PUBACKs of all that time. A turn after a pause is never delayed,
 * nor is any at a low rate. (The workers do the same: Worker::Moderate.)
 */
class Moderation {
  /**
   * @param {object} parts
   * @param {() => number} parts.now ms, monotonic
   * @param {(ms: number) => void} [parts.sleep] blocks the thread
   */
  constructor({ now, sleep = napper() }) {
    this.now = now;
    this.sleep = sleep;
    /** How far apart turns begin, ms. */
    this.interval = 0;
    this.turnAt = -Infinity;
    this.windowAt = now();
    this.recordsBefore = 0;
  }

  /**
   * The turn is over and nothing is left to do in it.
   * @param {number} records that were taken so far, of all time @param {boolean} isWaiting something waits for what the next turn brings
   */
  rest(records, isWaiting) {
    const now = this.now();
    this.#measure(now, records);
    const wait = this.turnAt + this.interval - now;
    this.turnAt = now;
    if (isWaiting || wait < LEAST_NAP_MS) return;
    this.sleep(wait);
    this.turnAt += wait;
  }

  /** @param {number} now @param {number} records */
  #measure(now, records) {
    const ms = now - this.windowAt;
    if (ms < WINDOW_MS) return;
    const rate = ((records - this.recordsBefore) * 1000) / ms;
    const load = Math.min(1, Math.max(0, (rate - QUIET_RATE) / (BUSY_RATE - QUIET_RATE)));
    this.interval = load * BUSY_MS;
    this.windowAt = now;
    this.recordsBefore = records;
  }
}

/** Sleeps to a tenth of a millisecond; timers of the loop know whole ones. */
function napper() {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  return (/** @type {number} */ ms) => void Atomics.wait(nobody, 0, 0, ms);
}

exports.Moderation = Moderation;
