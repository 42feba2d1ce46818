'use strict';

/** @typedef {import('./machine').Consumption} Consumption */
/**
 * @typedef {object} EnergyView of the whole machine, in the last minute
 * @property {string} source the sensor
 * @property {number} watts
 * @property {number | null} joulesPerMegabyte (10^6 bytes) that the broker confirmed in this time; null = too few bytes
 */

const WINDOW_MS = 60_000;
/** A shorter time is not representative. */
const LEAST_MS = 10_000;
/** With fewer bytes, the idle power of the machine would dominate. */
const LEAST_BYTES = 100_000;
/** Shortest distance of samples: about one a second, no matter how often add() is called. */
const APART_MS = 900;

/** Estimates the energy per megabyte of an uplink. The energy includes everything that the machine does. */
class EnergyShare {
  constructor() {
    /** Oldest first. @type {{atMs: number, joules: number, bytes: number}[]} */
    this.samples = [];
    this.life = -1;
  }

  /**
   * @param {Consumption | null} consumption of the machine so far
   * @param {number} bytes confirmed by the broker so far
   * @returns {EnergyView | null} null = unknown
   */
  add(consumption, bytes) {
    const last = this.samples.at(-1);
    if (!consumption || consumption.life !== this.life || (last && bytes < last.bytes)) this.samples = [];
    this.life = consumption?.life ?? -1;
    if (!consumption) return null;
    const { source, atMs, joules } = consumption;
    const newest = this.samples.at(-1);
    if (!newest || atMs - newest.atMs >= APART_MS) this.samples.push({ atMs, joules, bytes });
    while (atMs - this.samples[0].atMs > WINDOW_MS) this.samples.shift();
    return this.#view(source);
  }

  /** @param {string} source @returns {EnergyView | null} */
  #view(source) {
    const [from, to] = [this.samples[0], /** @type {typeof this.samples[0]} */ (this.samples.at(-1))];
    const ms = to.atMs - from.atMs;
    const joules = to.joules - from.joules;
    // Some platforms have a counter that never changes.
    if (ms < LEAST_MS || joules <= 0) return null;
    const bytes = to.bytes - from.bytes;
    const joulesPerMegabyte = bytes < LEAST_BYTES ? null : round(joules / (bytes / 1e6));
    return { source, watts: round(joules / (ms / 1000)), joulesPerMegabyte };
  }
}

/** @param {number} value @returns {number} rounded to three significant digits */
function round(value) {
  return Number(value.toPrecision(3));
}

exports.EnergyShare = EnergyShare;
