'use strict';
// Searches and sorts the devices of an engine for the viewers of the live stream, one page each.
//
// The engine lists devices by id only, so a search reads all of them. That takes about 0.5 % of one core at most: after
// a reading, and the searches in it, the next one waits for 200 times as long as they took. In between, the rows of the
// plain list (all devices, by id) are read again alone, so they are always new.

/** Devices of one call of the engine. */
const CHUNK = 10000;
/** Devices that are searched; further ones are left out, and the page says so. */
const MAX_DEVICES = 50000;
/** Pause after a reading, in multiples of the time that it took. */
const PAUSE = 200;
/** A little less than a second, so that a timer that is early does not skip a reading. */
const MIN_PAUSE_MS = 900;
/** The same for the plain list, which needs a reading only for the number of devices and the first ids of its pages. */
const PLAIN_PAUSE_MS = 5000;

/**
 * @typedef {import('../engine/device-registry').Agent} Agent
 * @typedef {import('./live-query').DeviceQuery} DeviceQuery
 * @typedef {{ agents: Agent[], next: string | null }} Page
 *
 * @typedef {object} DevicePage
 * @property {number} known devices that were searched
 * @property {boolean} cut true if there are more devices than are searched
 * @property {number} found
 * @property {number} page from 1
 * @property {number} pages at least 1
 * @property {number} ageMs of the rows
 * @property {Agent[]} rows
 */

/** @type {Record<import('./live-query').Sort, (row: Agent) => string | number>} */
const KEYS = {
  device: ({ device }) => device,
  protocol: ({ protocol }) => protocol,
  worker: ({ worker }) => worker,
  class: (row) => row.class,
  rate: ({ ratePerS }) => ratePerS,
  records: ({ records }) => records,
  // A device that was never heard from comes last.
  seen: ({ silentMs }) => (silentMs < 0 ? Infinity : silentMs),
  node: ({ name, node }) => name || node
};

class DevicePages {
  #registry;
  #now;
  /** @type {Agent[]} sorted by id */
  #rows = [];
  #isCut = false;
  #readAt = -Infinity;
  /** Time that the current reading and its searches took, ms. */
  #spent = 0;
  /** Searches of the current reading. @type {Map<string, Omit<DevicePage, 'ageMs'>>} */
  #pages = new Map();

  /**
   * @param {{ page(after: string, limit: number): Page }} registry
   * @param {() => number} [now] ms
   */
  constructor(registry, now = () => performance.now()) {
    this.#registry = registry;
    this.#now = now;
  }

  /**
   * @param {DeviceQuery} query
   * @returns {DevicePage}
   */
  page(query) {
    const begin = this.#now();
    const isPlain = query.q === '' && query.sort === 'device' && !query.descending;
    const pauseMs = isPlain ? PLAIN_PAUSE_MS : MIN_PAUSE_MS;
    if (begin - this.#readAt >= Math.max(pauseMs, PAUSE * this.#spent)) this.#read(begin);
    const key = JSON.stringify(query);
    let found = this.#pages.get(key);
    if (!found) {
      const from = this.#now();
      found = this.#search(query);
      this.#pages.set(key, found);
      this.#spent += this.#now() - from;
    }
    const ageMs = Math.round(begin - this.#readAt);
    return isPlain && ageMs >= MIN_PAUSE_MS ? this.#again(found, query.size) : { ...found, ageMs };
  }

  /**
   * Returns a page of the plain list with its present rows.
   * @param {Omit<DevicePage, 'ageMs'>} found
   * @param {number} size
   * @returns {DevicePage}
   */
  #again(found, size) {
    const before = this.#rows[(found.page - 1) * size - 1]?.device ?? '';
    return { ...found, rows: this.#registry.page(before, size).agents, ageMs: 0 };
  }

  /** @param {number} begin */
  #read(begin) {
    /** @type {Agent[]} */
    const rows = [];
    /** @type {string | null} */
    let after = '';
    while (after !== null && rows.length < MAX_DEVICES) {
      /** @type {Page} */
      const { agents, next } = this.#registry.page(after, CHUNK);
      rows.push(...agents);
      after = next;
    }
    this.#isCut = after !== null && this.#registry.page(after, 1).agents.length > 0;
    this.#rows = rows;
    this.#pages.clear();
    this.#readAt = begin;
    this.#spent = this.#now() - begin;
  }

  /**
   * @param {DeviceQuery} query
   * @returns {Omit<DevicePage, 'ageMs'>}
   */
  #search({ q, sort, descending, page, size }) {
    const matches = q === '' ? this.#rows : this.#rows.filter((row) => isMatch(row, q));
    // Not sorted by id again: they are.
    const sorted = sort === 'device' ? matches : [...matches].sort(by(KEYS[sort], descending));
    const ordered = sort === 'device' && descending ? [...matches].reverse() : sorted;
    const pages = Math.max(1, Math.ceil(ordered.length / size));
    const shown = Math.min(page, pages);
    return {
      known: this.#rows.length,
      cut: this.#isCut,
      found: ordered.length,
      page: shown,
      pages,
      rows: ordered.slice((shown - 1) * size, shown * size)
    };
  }
}

/** @param {Agent} row @param {string} q */
function isMatch({ device, name, node, protocol, bridge }, q) {
  return [device, name, node, protocol, bridge].some((text) => text.toLowerCase().includes(q));
}

/**
 * Returns a comparison for Array.sort, which keeps the order by id among equals.
 * @param {(row: Agent) => string | number} key
 * @param {boolean} descending
 */
function by(key, descending) {
  return (/** @type {Agent} */ a, /** @type {Agent} */ b) => {
    const [x, y] = [key(a), key(b)];
    if (x === y) return 0;
    return x < y === descending ? 1 : -1;
  };
}

exports.DevicePages = DevicePages;
exports.MAX_DEVICES = MAX_DEVICES;
