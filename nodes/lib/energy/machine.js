'use strict';
// The energy use of this machine. A process has one instance (index.js). Without a sensor it searches for one when its
// use begins, and then every few minutes.

const { findSensor, joulesBetween, readSensor } = require('./sensor');

/** @typedef {import('./sensor').Sensor} Sensor */
/** @typedef {import('./sensor').Reading} Reading */

const SAMPLE_MS = 1000;
const LOOK_MS = 300_000;

/**
 * @typedef {object} Consumption
 * @property {string} source
 * @property {number} joules since this sensor was found
 * @property {number} atMs of the last reading
 * @property {number} life increments when the count starts again
 */

class Machine {
  /** @param {{root?: string, now?: () => number}} [parts] now: ms, monotonic */
  constructor({ root = '/sys', now = () => performance.now() } = {}) {
    this.root = root;
    this.now = now;
    this.users = 0;
    /** Number of the current series of timers. */
    this.run = 0;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** @type {Sensor | null} */
    this.sensor = null;
    /** @type {Reading | null} */
    this.last = null;
    this.joules = 0;
    this.life = 0;
  }

  /** @returns {() => void} ends the use */
  use() {
    if (this.users++ === 0) this.#next(0, ++this.run);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.users > 0) return;
      this.run++;
      clearTimeout(this.timer);
      this.#forget();
    };
  }

  /** @returns {Consumption | null} null = no sensor */
  get consumption() {
    const { sensor, last, joules, life } = this;
    return sensor && last && { source: sensor.source, joules, atMs: last.atMs, life };
  }

  /**
   * Reads the sensor, or searches for one.
   * @returns {Promise<number>} ms until the next call
   */
  async look() {
    const sensor = this.sensor ?? (await findSensor(this.root));
    const reading = sensor && (await readSensor(sensor, this.now));
    if (!sensor || !reading) {
      this.#forget();
      return LOOK_MS;
    }
    const joules = this.last ? joulesBetween(sensor, this.last, reading) : NaN;
    if (Number.isNaN(joules)) {
      this.joules = 0;
      this.life++;
    } else this.joules += joules;
    this.sensor = sensor;
    this.last = reading;
    return SAMPLE_MS;
  }

  #forget() {
    this.sensor = null;
    this.last = null;
  }

  /** @param {number} ms @param {number} run */
  #next(ms, run) {
    this.timer = setTimeout(async () => {
      const next = await this.look();
      if (run === this.run) this.#next(next, run);
      else if (this.users === 0) this.#forget();
    }, ms).unref();
  }
}

exports.Machine = Machine;
