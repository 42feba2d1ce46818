'use strict';
// Makes things of the devices that an engine lists, and of those whose records a find node gets.

const { makeThing, idOf } = require('./make-thing');
const { placeOf } = require('./rules');

const PAGE = 1000;
/** Things in one transaction. */
const CHUNK = 200;
const PERIOD_MS = 10000;
const SOON_MS = 500;
/** Pause after a reading, in multiples of the time that it took. */
const PAUSE = 100;
/** How often the store is told which devices are still there. */
const SEEN_MS = 600000;

/**
 * @typedef {{ device: string, protocol: string, silentMs: number, class: number }} Agent
 *
 * @typedef {object} FeedParts
 * @property {string} source its name in the store
 * @property {((after: string, limit: number) => { agents: Agent[], next: string | null }) | null} page of the engine's
 *   devices; null = there is no engine
 * @property {import('./values').Values} values
 * @property {(what: string, input: object) => Promise<any>} ask the store
 * @property {import('./make-thing').Base} base
 * @property {import('./rules').Rule[]} rules
 * @property {(sentence: string) => void} problem
 */

class DeviceFeed {
  #parts;
  /** What the thing of each device was made of. @type {Map<string, string>} */
  #made = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isSoon = false;
  #isClosed = false;
  #seenAt = -Infinity;
  /** @type {Promise<void>} */
  #work = Promise.resolve();
  /** Devices beyond the limit. */
  left = 0;

  /** @param {FeedParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#plan(0);
  }

  /** Call it when a device has a new property. */
  soon() {
    if (this.#isSoon) return;
    this.#isSoon = true;
    this.#plan(SOON_MS);
  }

  /** @param {number} ms */
  #plan(ms) {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#work = this.#work.then(() => this.#run());
    }, ms).unref();
  }

  async #run() {
    this.#isSoon = false;
    let spentMs = 0;
    try {
      spentMs = await this.#read();
      await this.#make();
    } catch (error) {
      // The next run makes what this one has not.
      this.#made.clear();
      if (!this.#isClosed) this.#parts.problem(String(/** @type {Error} */ (error).message));
    }
    this.#plan(this.#isSoon ? SOON_MS : Math.max(PERIOD_MS, PAUSE * spentMs));
  }

  /** @returns {Promise<number>} ms of processor time */
  async #read() {
    const { page, values } = this.#parts;
    let spent = 0;
    for (let after = /** @type {string | null} */ (''); page && after !== null && !this.#isClosed;) {
      const begin = performance.now();
      const { agents, next } = page(after, PAGE);
      for (const { device, silentMs, protocol, class: cls } of agents)
        if (device !== '') values.see(device, { silentMs, cls, protocol });
      after = next;
      spent += performance.now() - begin;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return spent;
  }

  async #make() {
    const { values, base, rules, ask, source, problem } = this.#parts;
    const isTime = performance.now() - this.#seenAt > SEEN_MS;
    /** @type {import('./directory-store').Made[]} */
    const things = [];
    const seen = [];
    for (const [device, known] of values.entries()) {
      const names = [...known.values.keys()].filter((name) => !/(^|\.)rssi$/i.test(name)).sort();
      const madeOf = JSON.stringify([known.protocol, known.name, names]);
      if (this.#made.get(device) === madeOf) {
        if (isTime) seen.push(idOf(base, device));
        continue;
      }
      this.#made.set(device, madeOf);
      const placed = placeOf(rules, device) ?? (known.name ? placeOf(rules, known.name) : null);
      const resources = names.map((name) => ({ name, types: [] }));
      const { protocol, name: title } = known;
      things.push(makeThing(base, { device, title, protocol, resources, placed }));
    }
    if (this.#made.size > 2 * values.size + 1000)
      for (const device of this.#made.keys()) if (!values.of(device)) this.#made.delete(device);
    this.left = 0;
    for (let i = 0; i < Math.max(things.length, seen.length) && !this.#isClosed; i += CHUNK) {
      const part = { source, things: things.slice(i, i + CHUNK), seen: seen.slice(i, i + CHUNK) };
      const { left, problems } = await ask('make', part);
      this.left += left;
      for (const sentence of problems) problem(`A thing could not be made: ${sentence}.`);
    }
    if (isTime) this.#seenAt = performance.now();
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#work;
  }
}

exports.DeviceFeed = DeviceFeed;
