'use strict';

const { eachSecond } = require('../base/timing/each-second');

const TICK_MS = 1000;
const SPAN = 60;

/** Measures how long Node-RED's event loop was blocked, once a second. */
class LoopDelay {
  #now;
  #due;
  /** Of the last minute, in ms. @type {number[]} */
  #delays;
  #end;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#due = now() + TICK_MS;
    this.#delays = [];
    this.#end = eachSecond(() => this.#tick());
  }

  #tick() {
    const now = this.#now();
    this.#delays.push(Math.max(0, now - this.#due));
    if (this.#delays.length > SPAN) this.#delays.shift();
    this.#due = now + TICK_MS;
  }

  /** @returns {number} the longest delay of the last minute, in ms, including one that lasts */
  get maxMs() {
    return Math.max(0, this.#now() - this.#due, ...this.#delays);
  }

  close() {
    this.#end();
  }
}

exports.LoopDelay = LoopDelay;
