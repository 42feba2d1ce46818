'use strict';

const { eachSecond, latenessMs } = require('../base/timing/each-second');

const SPAN_MS = 60_000;
/** Seconds without a look: as many as the engine leaves out while nothing happens. */
const REST = 2;

/** Measures how long Node-RED's event loop was blocked, whenever this thread does its work of each second. */
class LoopDelay {
  #now;
  /** Of the last minute. @type {{ atMs: number, ms: number }[]} */
  #delays = [];
  #end;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#end = eachSecond((lateMs) => this.#add(lateMs));
  }

  /** @param {number} ms */
  #add(ms) {
    const atMs = this.#now();
    this.#delays = this.#delays.filter((each) => each.atMs > atMs - SPAN_MS);
    this.#delays.push({ atMs, ms });
    return REST;
  }

  /** @returns {number} the longest delay of the last minute, in ms, including one that lasts */
  get maxMs() {
    return Math.max(latenessMs(), ...this.#delays.map(({ ms }) => ms));
  }

  close() {
    this.#end();
  }
}

exports.LoopDelay = LoopDelay;
