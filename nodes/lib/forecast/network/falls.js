'use strict';
// Falls of one uplink: whether what it carries is forecast to fall in the next slot, and whether that was right.
//
// A fall is at least by half, of the expected capacity or of the share of time in which the uplink is connected; both
// forecasts are trusted, and their bands do not overlap. A slot later, what was observed is judged: right = nearer to
// the forecast than to what was observed before it.

const { beginOf, slotOf } = require('./season');

const QUANTITIES = /** @type {const} */ (['connected', 'capacity']);
const LEAST_FALL = 0.5;

/**
 * @typedef {typeof QUANTITIES[number]} Quantity
 * @typedef {import('../../../../native/index.js').ForecastExpectation} Expectation
 * @typedef {'open' | 'right' | 'wrong' | 'unknown'} Verdict unknown: the quantity was not observed before or afterwards
 *
 * @typedef {object} Fall
 * @property {Quantity} quantity
 * @property {number} at when it is forecast, ms since 1970: a slot begins
 * @property {number | null} before observed in the slot before it
 * @property {number} expected from then on
 * @property {number | null} after observed from then on, in the slot
 * @property {Verdict} verdict
 */

class Falls {
  #season;
  #expect;
  /** Means of the current slot. @type {{ slot: number, means: Map<string, { sum: number, count: number }> }} */
  #now = { slot: -1, means: new Map() };
  /** What is not judged yet. @type {Fall[]} */
  #open = [];
  /** @type {Fall | null} */
  last = null;
  counters = { decided: 0, right: 0, wrong: 0, unknown: 0 };

  /**
   * @param {import('./season').Season} season
   * @param {(topic: Quantity, at: number) => Expectation | null} expect what is expected in the slot of a time
   */
  constructor(season, expect) {
    this.#season = season;
    this.#expect = expect;
  }

  /** Notes what was observed. @param {Map<string, number>} values by topic @param {number} ts ms since 1970 */
  observe(values, ts) {
    this.#enter(slotOf(this.#season, ts));
    const { means } = this.#now;
    for (const quantity of QUANTITIES) {
      const value = values.get(quantity);
      if (value === undefined) continue;
      const { sum, count } = means.get(quantity) ?? { sum: 0, count: 0 };
      means.set(quantity, { sum: sum + value, count: count + 1 });
    }
  }

  /**
   * Returns the fall that the next slot is forecast to bring, null = none. The first call that returns it counts it.
   * @param {number} now ms since 1970
   * @returns {Fall | null}
   */
  ahead(now) {
    const slot = slotOf(this.#season, now);
    const at = beginOf(this.#season, slot + 1);
    const known = this.#open.find((fall) => fall.at === at);
    if (known) return known;
    const found = this.#find(now, at);
    if (!found) return null;
    /** @type {Fall} */
    const fall = { ...found, at, before: null, after: null, verdict: 'open' };
    this.#open.push(fall);
    this.last = fall;
    this.counters.decided++;
    return fall;
  }

  /** @param {number} now @param {number} at @returns {Pick<Fall, 'quantity' | 'expected'> | null} */
  #find(now, at) {
    for (const quantity of QUANTITIES) {
      const here = this.#expect(quantity, now);
      const next = this.#expect(quantity, at);
      if (here?.doubt !== '' || next?.doubt !== '') continue;
      const [expected, from] = [next.expected ?? NaN, here.expected ?? NaN];
      const isApart = (next.high ?? NaN) < (here.low ?? NaN);
      if (isApart && expected <= from * LEAST_FALL) return { quantity, expected: Math.max(0, expected) };
    }
    return null;
  }

  /** @param {number} slot */
  #enter(slot) {
    if (slot === this.#now.slot) return;
    const over = this.#now.slot;
    for (const fall of this.#open) {
      const own = slotOf(this.#season, fall.at);
      if (own - 1 === over) fall.before = this.#mean(fall.quantity);
      if (own === over) fall.after = this.#mean(fall.quantity);
      // A clock that was set back, or a slot without values.
      if (slot > own || slot < own - 1) this.#judge(fall);
    }
    this.#open = this.#open.filter(({ verdict }) => verdict === 'open');
    this.#now = { slot, means: new Map() };
  }

  /** @param {Fall} fall */
  #judge(fall) {
    const { before, expected, after } = fall;
    if (before === null || after === null) fall.verdict = 'unknown';
    else fall.verdict = after <= (before + expected) / 2 ? 'right' : 'wrong';
    this.counters[/** @type {'right' | 'wrong' | 'unknown'} */ (fall.verdict)]++;
  }

  /** @param {string} quantity @returns {number | null} */
  #mean(quantity) {
    const { sum = 0, count = 0 } = this.#now.means.get(quantity) ?? {};
    return count === 0 ? null : sum / count;
  }
}

module.exports = { Falls };
