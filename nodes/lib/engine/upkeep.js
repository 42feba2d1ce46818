'use strict';
// What an engine does in JavaScript at each doorbell, and once a second: it takes what the engine has, reads the
// counters, and updates the status of its nodes.

const { compactAgain } = require('../base/compact-heap');
const { eachSecond, hurry } = require('../base/timing/each-second');
const { guard } = require('../base/guard');
const { History } = require('../live');
const { Meter } = require('./figures/meter');
const { Stillness } = require('./figures/stillness');
const { ProxyWatch } = require('./proxy-watch');
const { SpareMemory } = require('./spare-memory');

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./figures/meter').Rates} Rates
 *
 * @typedef {object} UpkeepParts
 * @property {(() => void)[]} bells poll the engine, in this order
 * @property {() => void} judge judges the plan again, once a second
 * @property {() => void} releaseMemory returns memory to the system
 * @property {() => void} releaseProgramPages takes pages of the program out of memory that are not used again
 * @property {(error: Error) => void} onFault gets what a call throws; the others go on
 * @property {(sentence: string) => void} warn
 */

/** Records a second up to which the figures may be those of the last three seconds. */
const LIGHT_PER_S = 1000;
/** After a viewer has read the rates, they are those of the last second for this time. */
const WATCHED_MS = 3500;

class Upkeep {
  #host;
  #parts;
  #bells;
  #meter = new Meter();
  #stillness = new Stillness();
  #spareMemory;
  #proxies;
  #watchedAt = -Infinity;
  #end;

  /** @param {EngineHost} host @param {UpkeepParts} parts */
  constructor(host, parts) {
    this.#host = host;
    this.#parts = parts;
    this.#bells = new Set(parts.bells);
    /** Of the last second, or of the time since the last reading while the load is light. @type {Rates} */
    this.rates = { seconds: 0, stages: new Map(), counters: {} };
    /** Of the latest reading. @type {import('../../../native/index.js').EngineStats | null} */
    this.stats = null;
    /** The last hour. */
    this.history = new History();
    this.#spareMemory = new SpareMemory((hadBacklog) => {
      parts.releaseMemory();
      // Not after each burst: a collection delays the records that come next.
      if (hadBacklog) compactAgain();
    }, parts.releaseProgramPages);
    this.#proxies = new ProxyWatch(parts.warn);
    this.#end = eachSecond(() => this.tick());
  }

  /**
   * Adds a function that polls the engine, for example for logins.
   * @param {() => void} fn called at each doorbell, and once a second
   * @returns {() => void} removes the function
   */
  onBell(fn) {
    this.#bells.add(fn);
    return () => void this.#bells.delete(fn);
  }

  /** Takes what the engine has. */
  take() {
    if (this.#host.isClosed) return;
    for (const fn of this.#bells) guard(fn, this.#parts.onFault);
  }

  /** The doorbell of the engine. */
  ring() {
    // A light load rings now and then, for example for a tap.
    if (!this.isLight || this.#recordsPerS === 0) {
      this.#stillness.stir();
      hurry();
    }
    this.take();
  }

  /** @returns {number} number of the next seconds that may skip the call */
  tick() {
    const duty = this.#stillness.next(this.#host);
    if (duty !== 'rest') this.#work(duty);
    return this.#stillness.skip();
  }

  /** @param {'work' | 'look'} duty */
  #work(duty) {
    const { deliveries, log, members } = this.#host;
    const stats = duty === 'work' ? this.#measure() : null;
    this.take();
    deliveries.tick();
    log?.tick();
    this.#parts.judge();
    if (!stats) return;
    this.#spareMemory.tick(stats);
    this.#proxies.tick(stats, members);
    for (const member of members) guard(() => member.tick(stats, this.rates), this.#parts.onFault);
  }

  /** @returns {import('../../../native/index.js').EngineStats} */
  #measure() {
    const { engine, members } = this.#host;
    const stats = engine.stats();
    this.stats = stats;
    this.rates = this.#meter.read(stats);
    for (const { inlet } of members) inlet.count(this.rates);
    this.history.add(stats);
    return stats;
  }

  /** A viewer reads the rates each second. */
  watched() {
    if (!this.#isWatched) {
      this.#stillness.stir();
      hurry();
    }
    this.#watchedAt = performance.now();
  }

  get #isWatched() {
    return performance.now() - this.#watchedAt < WATCHED_MS;
  }

  /** True if few records come, and no viewer reads the rates. */
  get isLight() {
    return this.#recordsPerS <= LIGHT_PER_S && !this.#isWatched;
  }

  get #recordsPerS() {
    const { recordsReceived = 0, recordsPushed = 0 } = this.rates.counters;
    return recordsReceived + recordsPushed;
  }

  /** True if memory is returned to the system after some quiet seconds. */
  get waitsToRelease() {
    return this.#spareMemory.isWaiting;
  }

  /** Ends the work of each second; the doorbell may still ring. */
  close() {
    this.#end();
  }
}

exports.Upkeep = Upkeep;
