'use strict';

/** @typedef {import('./machine').Taken} Taken */
/**
 * @typedef {object} EnergyView of the whole machine, in the last minute
 * @property {string} source what has measured it @property {number} watts
 * @property {number | null} joulesPerMegabyte (10^6 bytes) that the uplink has brought to the broker meanwhile; null = next to nothing was
 */

const WINDOW_MS = 60_000;
/** Less time says nothing. */
const LEAST_MS = 10_000;
/** Of less the machine's own need is all that would be seen. */
const LEAST_BYTES = 100_000;
/** One more each second, whoever asks how often. */
const APART_MS = 900;

/** What the machine takes while an uplink brings its megabytes: an estimate, as all that the machine does is in it. */
class EnergyShare {
  constructor() {
    /** Oldest first. @type {{atMs: number, joules: number, bytes: number}[]} */
    this.samples = [];
    this.life = -1;
  }

  /** @param {Taken | null} taken by the machine so far @param {number} bytes confirmed by the broker so far @returns {EnergyView | null} null = it is not known */
  add(taken, bytes) {
    const last = this.samples.at(-1);
    if (!taken || taken.life !== this.life || (last && bytes < last.bytes)) this.samples = [];
    this.life = taken?.life ?? -1;
    if (!taken) return null;
    const { source, atMs, joules } = taken;
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
    // Some platforms have a counter that nothing is wired to.
    if (ms < LEAST_MS || joules <= 0) return null;
    const bytes = to.bytes - from.bytes;
    const joulesPerMegabyte = bytes < LEAST_BYTES ? null : round(joules / (bytes / 1e6));
    return { source, watts: round(joules / (ms / 1000)), joulesPerMegabyte };
  }
}

/** @param {number} value @returns {number} with three digits: it is no better */
function round(value) {
  return Number(value.toPrecision(3));
}

exports.EnergyShare = EnergyShare;
