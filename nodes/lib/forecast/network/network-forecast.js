'use strict';
// Forecasts for the network of one engine: a series for each figure of each uplink (uplink-figures.js). Where a fall is
// forecast, open batches are sealed ahead of it: what they hold would leave over the slower link, or wait for the end
// of an outage.

const { Falls } = require('./falls');
const { beginOf, slotOf } = require('./season');
const { UplinkFigures, isConnected } = require('./uplink-figures');

/** Series of all uplinks and their paths; the first ones are kept. */
const MOST_SERIES = 1000;
/** Of each uplink, in the order in which they are shown. */
const FIGURES = ['capacity', 'roundTrip', 'connected'];
/** Rates and times differ by factors, so the model learns their logarithms. */
const LEAST = 0.001;
const isShare = (/** @type {string} */ topic) => /(^|\/)connected$/.test(topic);
/** @param {string} topic @param {number} value */
const toModel = (topic, value) => (isShare(topic) ? value : Math.log(Math.max(LEAST, value)));
/** @param {string} topic @param {number | null} value */
const fromModel = (topic, value) => (isShare(topic) || value === null ? value : Math.exp(value));
/** A single value teaches this much however steady the series was: a share of 1, or a factor of 20. */
const LEAST_CLIP = 3;
/** While batches are sealed: how often. */
const SEAL_MS = 1000;
const LEAST_SEAL_MS = 100;

/**
 * @typedef {import('./season').Season} Season
 * @typedef {Pick<import('../../../../native/index.js').ForecastTable, 'restored' | 'observe' | 'look' | 'save'>} Table
 * @typedef {import('../../../../native/index.js').ForecastExpectation} Expectation
 * @typedef {{ id: string, name: string, state: import('../../engine/modules').UplinkState }} Link
 * @typedef {{ stage: number, patienceMs: number, links: Set<string> }} Batch a stage whose node wants to be sealed ahead;
 *   links: ids of the uplinks that it leads to
 *
 * @typedef {object} Parts
 * @property {() => Iterable<Link>} links of the plan in use
 * @property {() => Batch[]} batches of the plan in use
 * @property {(stage: number) => void} seal
 * @property {(settings: import('../../../../native/index.js').ForecastSettings, content: Buffer | null) => Table} makeTable
 * @property {() => number} [now] ms since 1970
 *
 * @typedef {{ figures: InstanceType<typeof UplinkFigures>, falls: InstanceType<typeof Falls>,
 *   observed: Map<string, number>, topics: Set<string> }} Uplink observed: in the last step
 */

class NetworkForecast {
  #season;
  #parts;
  #now;
  /** @type {Table | null} null = what was learned is not read yet */
  #table = null;
  /** @type {Map<string, Uplink>} */
  #uplinks = new Map();
  #step = -1;
  /** The series have changed since they were saved, and since what is being saved. */
  #isChanged = false;
  /** There was no room for a series. */
  isFull = false;

  /** @param {Season} season @param {Parts} parts */
  constructor(season, parts) {
    this.#season = season;
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** Begins. @param {Buffer | null} content of save(), null = nothing was learned @throws {Error} if it is damaged */
  begin(content) {
    const { periodS, slots } = this.#season;
    const table = this.#parts.makeTable(
      { periodS, slots, least: LEAST_CLIP, maxSeries: MOST_SERIES },
      content
    );
    if (table.restored === 'damaged') throw new Error('not rows of forecasts');
    this.#table = table;
  }

  /** @returns {Buffer | null} what was learned; null = nothing new */
  save() {
    if (!this.#table || !this.#isChanged) return null;
    this.#isChanged = false;
    return this.#table.save();
  }

  /** @returns {number} ms until the next call of tick() */
  tick() {
    const { lookMs, stepMs } = this.#season;
    const now = this.#now();
    const links = [...this.#parts.links()];
    for (const id of this.#uplinks.keys())
      if (!links.some((link) => link.id === id)) this.#uplinks.delete(id);
    for (const { id, state } of links) this.#uplinkOf(id).figures.look(state);
    const step = Math.floor(now / stepMs);
    if (step !== this.#step) {
      // The first step is not a whole one.
      for (const { id, state } of links) this.#endStep(id, state, now, this.#step >= 0);
      this.#step = step;
    }
    const sealMs = this.#sealAhead(now, links);
    const lookIn = lookMs - (now % lookMs);
    return Math.max(1, Math.min(lookIn, sealMs));
  }

  /** @param {string} id @param {string} topic @param {number} at @returns {Expectation | null} */
  #expect(id, topic, at) {
    const found = this.#table?.look(id, topic, at);
    if (!found) return null;
    const [expected, low, high] = [found.expected, found.low, found.high].map((each) =>
      fromModel(topic, each)
    );
    return { ...found, expected, low, high };
  }

  /** @param {string} id @returns {Uplink} */
  #uplinkOf(id) {
    const known = this.#uplinks.get(id);
    if (known) return known;
    const falls = new Falls(this.#season, (topic, at) => this.#expect(id, topic, at));
    const uplink = { figures: new UplinkFigures(), falls, observed: new Map(), topics: new Set(FIGURES) };
    this.#uplinks.set(id, uplink);
    return uplink;
  }

  /** @param {string} id @param {Link['state']} state @param {number} now @param {boolean} isWhole */
  #endStep(id, state, now, isWhole) {
    const uplink = this.#uplinkOf(id);
    const values = uplink.figures.take(state, now);
    if (!isWhole || !this.#table) return;
    // Steps end where slots do.
    const ts = now - this.#season.stepMs / 2;
    for (const [topic, value] of values) {
      const isKept = this.#table.observe(id, topic, toModel(topic, value), Math.round(ts));
      this.isFull ||= !isKept;
      if (isKept) uplink.topics.add(topic);
      this.#isChanged = true;
    }
    uplink.observed = values;
    uplink.falls.observe(values, ts);
  }

  /** @param {number} now @param {Link[]} links @returns {number} ms until the next call */
  #sealAhead(now, links) {
    const season = this.#season;
    const slot = slotOf(season, now);
    const next = beginOf(season, slot + 1);
    let again = Infinity;
    for (const { stage, patienceMs, links: ids } of this.#parts.batches()) {
      // A slot is as exact as the forecast is, and what was held longer leaves at its beginning.
      const leadMs = Math.min(patienceMs, next - beginOf(season, slot));
      if (now < next - leadMs) {
        again = Math.min(again, next - leadMs - now);
        continue;
      }
      const isAhead = links.some(
        ({ id, state }) => ids.has(id) && isConnected(state) && this.#uplinkOf(id).falls.ahead(now) !== null
      );
      if (!isAhead) continue;
      this.#parts.seal(stage);
      again = Math.min(again, Math.max(LEAST_SEAL_MS, Math.min(SEAL_MS, leadMs / 4)));
    }
    return again;
  }

  /** Returns what is known of each uplink, for the status page and the metrics. */
  view() {
    const now = this.#now();
    return [...this.#parts.links()].map(({ id, name }) => {
      const { falls, observed, topics } = this.#uplinkOf(id);
      const series = [...topics].flatMap((topic) => {
        const expectation = this.#expect(id, topic, now);
        return expectation ? { topic, observed: observed.get(topic) ?? null, ...expectation } : [];
      });
      return { broker: id, name, series, falls: { ...falls.counters, last: falls.last } };
    });
  }
}

/** @typedef {ReturnType<NetworkForecast['view']>} NetworkView */

module.exports = { MOST_SERIES, NetworkForecast };
