'use strict';
// Makes things of the devices that an engine lists, and of those whose records a find node gets.

const { MAX_PROPERTIES, makeThing, idOf } = require('./make-thing');
const { placeOf } = require('./rules');

const PAGE = 1000;
/** Things in one transaction. */
const CHUNK = 200;
const PERIOD_MS = 10000;
const SOON_MS = 500;
/** Pause after a reading, in multiples of the time that it took. */
const PAUSE = 100;
/** Time between two lists of present devices for the store. */
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
 * @property {(things: number) => void} [left] gets the number of things beyond the limit of the directory
 */

class DeviceFeed {
  #parts;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isSoon = false;
  #isClosed = false;
  #seenAt = -Infinity;
  /** @type {Promise<void>} */
  #work = Promise.resolve();
  /** Devices whose things are beyond the limit. @type {Set<string>} */
  #left = new Set();

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
    const { values } = this.#parts;
    const changed = values.takeChanged();
    for (const device of this.#left) if (!values.of(device)) this.#left.delete(device);
    try {
      for (let i = 0; i < changed.length && !this.#isClosed; i += CHUNK)
        await this.#send(changed.slice(i, i + CHUNK), []);
    } catch (error) {
      values.change(changed);
      throw error;
    } finally {
      this.#parts.left?.(this.#left.size);
    }
    if (performance.now() - this.#seenAt < SEEN_MS) return;
    // Twice the time, so that none is missed between two runs.
    const seen = values.seenWithin(2 * SEEN_MS);
    for (let i = 0; i < seen.length && !this.#isClosed; i += CHUNK)
      await this.#send([], seen.slice(i, i + CHUNK));
    this.#seenAt = performance.now();
  }

  /** @param {string[]} devices whose things are made @param {string[]} seen devices */
  async #send(devices, seen) {
    const { ask, base, source, problem, values } = this.#parts;
    const ids = seen.map((device) => idOf(base, device));
    const own = devices.map((device) => idOf(base, device));
    const before = own.length > 0 ? await ask('namesOf', { source, ids: own }) : [];
    const things = devices.map((device, i) => this.#thingOf(device, before[i]));
    const { left, problems, missing } = await ask('make', { source, things, seen: ids, adds: true });
    const beyond = new Set(left);
    for (const [i, { id }] of things.entries())
      if (beyond.has(id)) this.#left.add(devices[i]);
      else this.#left.delete(devices[i]);
    for (const sentence of problems) problem(`A thing could not be made: ${sentence}.`);
    const gone = new Set(missing);
    values.change(seen.filter((_device, i) => gone.has(ids[i])));
  }

  /**
   * @param {string} device
   * @param {string[]} before names that its records had before the start: it may not have sent all of them yet
   * @returns {import('./directory-store').Made}
   */
  #thingOf(device, before) {
    const { values, base, rules } = this.#parts;
    const { protocol = '', name: title = '', values: own = new Map() } = values.of(device) ?? {};
    const names = [...own.keys()].filter((name) => !/(^|\.)rssi$/i.test(name));
    const all = [...new Set([...names, ...before])].slice(0, MAX_PROPERTIES).sort();
    const placed = placeOf(rules, device) ?? (title ? placeOf(rules, title) : null);
    const resources = all.map((name) => ({ name, types: [] }));
    return { ...makeThing(base, { device, title, protocol, resources, placed }), names };
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#work;
  }
}

exports.DeviceFeed = DeviceFeed;
