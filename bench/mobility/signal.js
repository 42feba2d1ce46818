'use strict';
// The radio model: received signal by distance, and the rate that a Wi-Fi link has with it. Models and constants are
// those of the sources named here; nothing was measured with a radio.

const { randomOf } = require('../harness/random');

/**
 * Log-distance path loss with log-normal shadowing [T. S. Rappaport, Wireless Communications, 2nd ed., 4.9.2, and Table
 * 4.6, "Office, hard partition": n = 3.0, sigma = 7.0 dB]. The loss at 1 m is that of free space at 2.437 GHz. The
 * shadowing along the way is correlated, exp(-d/D) [M. Gudmundson, Electronics Letters 27(23), 1991]; D = 6 m, about
 * the width of a room, is our choice. The power is that of a Raspberry Pi's radio, antenna included, rounded.
 */
const MODEL = Object.freeze({
  powerDbm: 15,
  lossAt1mDb: 40.2,
  exponent: 3,
  sigmaDb: 7,
  correlationM: 6
});

/**
 * IEEE 802.11n, 20 MHz, one stream, long guard interval: least signal in dBm [IEEE 802.11-2016, Table 19-23] and rate
 * in Mbit/s [Table 19-27], by MCS.
 * @type {readonly (readonly [dbm: number, mbit: number])[]}
 */
const MCS = Object.freeze([
  [-82, 6.5],
  [-79, 13],
  [-77, 19.5],
  [-74, 26],
  [-70, 39],
  [-66, 52],
  [-65, 58.5],
  [-64, 65]
]);

/**
 * The part of that rate which TCP gets: MAC, acknowledgements and headers take the rest. The paper's better card had
 * 47.1 of 65 Mbit/s.
 */
const EFFICIENCY = 47.1 / 65;

/** @param {number} metres @returns {number} mean signal in dBm */
function meanDbm(metres) {
  const { powerDbm, lossAt1mDb, exponent } = MODEL;
  return powerDbm - lossAt1mDb - 10 * exponent * Math.log10(Math.max(1, metres));
}

/** @param {number} dbm @returns {number} Mbit/s of TCP; 0: below the lowest MCS, nothing passes */
function rateOf(dbm) {
  const best = MCS.findLast(([least]) => dbm >= least);
  return best ? best[1] * EFFICIENCY : 0;
}

/** @param {(n: number) => number} random @returns {number} of the standard normal distribution */
function normal(random) {
  const uniform = () => (random(1 << 30) + 1) / ((1 << 30) + 1);
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** The shadowing of one access point along the way. */
class Shadowing {
  /** @param {number} seed */
  constructor(seed) {
    this.random = randomOf(Math.imul(seed, 2654435761) >>> 0);
    // The first numbers of close seeds are alike.
    for (let i = 0; i < 16; i++) this.random(2);
    this.db = MODEL.sigmaDb * normal(this.random);
  }

  /** @param {number} metres since the last call @returns {number} dB */
  after(metres) {
    const kept = Math.exp(-metres / MODEL.correlationM);
    this.db = kept * this.db + Math.sqrt(1 - kept * kept) * MODEL.sigmaDb * normal(this.random);
    return this.db;
  }
}

module.exports = { MCS, MODEL, Shadowing, meanDbm, rateOf };
