'use strict';
// The way of a gateway with two radios along a corridor and back, past access points: a trace that is the same for the
// same seed. Pure.

const { Shadowing, meanDbm, rateOf } = require('./signal');

/** Metres; the paper's floor is about as long. The access points are at equal distances, off the way. */
const CORRIDOR_M = 80;
const MARGIN_M = 5;
const BESIDE_M = 3;
const STEP_MS = 100;
/**
 * A radio changes to a stronger access point when its own is weak and the other one is stronger by a margin: usual
 * values of clients, against changing to and fro.
 */
const ROAM = Object.freeze({ belowDbm: -70, betterDb: 8 });
/** Rate of an LTE-like second link in Mbit/s, which does not depend on the place. */
const LTE_MBIT = 10;

/**
 * @typedef {object} Link
 * @property {number} dbm of the access point in use; NaN: LTE
 * @property {number} mbit 0: nothing passes
 * @property {number} point number of the access point from 0; -1: LTE
 * @property {boolean} isRoaming between two access points: nothing passes
 *
 * @typedef {{ ms: number, metres: number, links: [Link, Link] }} Step
 * @typedef {{ seed: number, points: number, seconds: number, second: 'wifi' | 'lte', roamMs: number, share?: number }}
 *   Walk roamMs: time of a hand-over in which nothing passes; share: of the rates, default 1
 */

/** @param {number} ms @param {number} seconds of the way there and back @returns {number} metres from the start */
function placeAt(ms, seconds) {
  const part = (ms / 1000 / seconds) * 2;
  return CORRIDOR_M * (part <= 1 ? part : Math.max(0, 2 - part));
}

/** @param {number} count @returns {number[]} metres of the access points */
const pointsOf = (count) =>
  Array.from(
    { length: count },
    (_, i) => MARGIN_M + ((CORRIDOR_M - 2 * MARGIN_M) * i) / Math.max(1, count - 1)
  );

/** A radio that uses some of the access points, one at a time. */
class Radio {
  /** @param {number[]} points numbers of its access points @param {number} roamMs @param {number} share */
  constructor(points, roamMs, share) {
    this.points = points;
    this.roamMs = roamMs;
    this.share = share;
    this.point = -1;
    this.roamsUntil = -Infinity;
  }

  /** @param {number[]} signals dBm by access point @param {number} ms @returns {Link} */
  at(signals, ms) {
    const best = this.points.reduce((a, b) => (signals[b] > signals[a] ? b : a));
    if (this.point < 0) this.point = best;
    const own = signals[this.point];
    const isWorth = own < ROAM.belowDbm && signals[best] >= own + ROAM.betterDb;
    if (isWorth && ms >= this.roamsUntil) {
      this.point = best;
      this.roamsUntil = ms + this.roamMs;
    }
    const isRoaming = ms < this.roamsUntil;
    const dbm = signals[this.point];
    return { dbm, mbit: isRoaming ? 0 : this.share * rateOf(dbm), point: this.point, isRoaming };
  }
}

/** @param {number} share @returns {Link} */
const lte = (share) => ({ dbm: NaN, mbit: share * LTE_MBIT, point: -1, isRoaming: false });

/**
 * Returns the trace. The first radio uses each second access point, the second radio the others; with LTE, the first
 * one uses all.
 * @param {Walk} walk @returns {Step[]}
 */
function traceOf({ seed, points, seconds, second, roamMs, share = 1 }) {
  const places = pointsOf(points);
  const shadows = places.map((_, i) => new Shadowing(seed * 16 + i));
  const all = places.map((_, i) => i);
  const first = new Radio(second === 'lte' ? all : all.filter((i) => i % 2 === 0), roamMs, share);
  const other =
    second === 'lte'
      ? null
      : new Radio(
          all.filter((i) => i % 2 === 1),
          roamMs,
          share
        );
  const steps = /** @type {Step[]} */ ([]);
  let before = 0;
  for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
    const metres = placeAt(ms, seconds);
    const signals = places.map((place, i) => {
      const shadow = shadows[i].after(Math.abs(metres - before));
      return meanDbm(Math.hypot(place - metres, BESIDE_M)) + shadow;
    });
    before = metres;
    steps.push({ ms, metres, links: [first.at(signals, ms), other ? other.at(signals, ms) : lte(share)] });
  }
  return steps;
}

/** Returns what the links can carry on the way. @param {Step[]} steps */
function summaryOf(steps) {
  const seconds = STEP_MS / 1000;
  const count = (/** @type {(step: Step) => boolean} */ is) => steps.filter(is).length * seconds;
  const mean = (/** @type {(step: Step) => number} */ of) =>
    steps.reduce((sum, step) => sum + of(step), 0) / steps.length;
  return {
    /** Seconds in which a link carries nothing, and in which neither does. */
    dead: [count(({ links }) => links[0].mbit === 0), count(({ links }) => links[1].mbit === 0)],
    none: count(({ links }) => links[0].mbit + links[1].mbit === 0),
    /** Mean Mbit/s of the better link at each time, and of both together. */
    best: mean(({ links }) => Math.max(links[0].mbit, links[1].mbit)),
    both: mean(({ links }) => links[0].mbit + links[1].mbit),
    roams: steps.reduce(
      (sum, { links }, i) =>
        sum + links.filter(({ point }, k) => i > 0 && point !== steps[i - 1].links[k].point).length,
      0
    )
  };
}

module.exports = { CORRIDOR_M, LTE_MBIT, STEP_MS, placeAt, summaryOf, traceOf };
