'use strict';

const { eachSecond, latenessMs, onWake } = require('../base/timing/each-second');

const SPAN_MS = 60_000;
/** Seconds that may pass without a wake-up: as many as a still engine skips. */
const REST = 2;

/** Measures how long Node-RED's event loop was blocked, at each wake-up of the timer of seconds. */
class LoopDelay {
  #now;
  /** Of the last minute. @type {{ atMs: number, ms: number }[]} */
  #delays = [];
  #ends;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#ends = [onWake((lateMs) => this.#add(lateMs)), eachSecond(() => REST)];
  }

  /** @param {number} ms */
  #add(ms) {
    const atMs = this.#now();
    this.#delays = this.#delays.filter((each) => each.atMs > atMs - SPAN_MS);
    this.#delays.push({ atMs, ms });
  }

  /** @returns {number} the longest delay of the last minute, in ms, including one that lasts */
  get maxMs() {
    return Math.max(latenessMs(), ...this.#delays.map(({ ms }) => ms));
  }

  close() {
    for (const end of this.#ends) end();
  }
}

exports.LoopDelay = LoopDelay;
