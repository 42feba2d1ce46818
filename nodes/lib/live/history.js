'use strict';
// The last hour of an engine, in one-minute points. It is fed by the engine's own one-second reading, so it costs a few
// additions a second and about 4 KB, whether or not a viewer looks.

const MINUTES = 60;
const MINUTE_MS = 60000;
/** Longest time that the load of one reading counts for. */
const BUSY_MS = 1500;

/** Series that count: the average per second over the minute. */
const RATES = /** @type {const} */ (['received', 'pushed', 'delivered', 'dropped']);
/**
 * Series of the state at the end of the minute, except `busy`: the average load of the busiest worker, 0..1. A record
 * that waits in memory and on disk counts once in `waiting`.
 */
const GAUGES = /** @type {const} */ (['devices', 'waiting', 'onDisk', 'memoryBytes', 'busy']);
const NAMES = [...RATES, ...GAUGES];

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {typeof NAMES[number]} Name
 * @typedef {{ stepS: number, endsAt: number, series: Record<string, number[]> }} HistoryView endsAt: ms since 1970 of
 *   the newest point; series: oldest first, at most 60 points
 */

class History {
  #now;
  #wall;
  /** @type {Map<Name, Float64Array>} */
  #rings;
  /** Points written since the start. */
  #written;
  #endsAt;
  /** @type {{ at: number, totals: Record<string, number> } | null} at the start of the minute */
  #begin;
  /** When the minute ends. */
  #due;
  /** Load × ms of the minute. */
  #busyMs;
  /** Of the latest reading. */
  #readAt;

  /**
   * @param {() => number} [now] ms, monotonic
   * @param {() => number} [wall] ms since 1970
   */
  constructor(now = () => performance.now(), wall = () => Date.now()) {
    this.#now = now;
    this.#wall = wall;
    this.#rings = new Map(NAMES.map((name) => [name, new Float64Array(MINUTES)]));
    this.#written = 0;
    this.#endsAt = 0;
    this.#begin = null;
    this.#due = 0;
    this.#busyMs = 0;
    this.#readAt = 0;
  }

  /** @returns {number} points written since the start: a change means a new point */
  get written() {
    return this.#written;
  }

  /**
   * Adds a reading. Call it about once a second, and now and then while nothing happens.
   * @param {EngineStats} stats
   */
  add(stats) {
    const now = this.#now();
    if (!this.#begin) {
      this.#begin = { at: now, totals: totalsOf(stats) };
      this.#due = now + MINUTE_MS;
      this.#readAt = now;
    }
    // The load of a reading is that of about the last second.
    this.#busyMs += busiest(stats) * Math.min(now - this.#readAt, BUSY_MS);
    this.#readAt = now;
    if (now < this.#due) return;
    const elapsedMs = now - this.#begin.at;
    const totals = totalsOf(stats);
    const { totals: before } = this.#begin;
    for (const name of RATES)
      this.#put(name, Math.max(0, ((totals[name] - before[name]) * 1000) / elapsedMs));
    this.#put('devices', stats.devices);
    this.#put('waiting', waitingOf(stats));
    this.#put('onDisk', sum(stats.storedRecords));
    this.#put('memoryBytes', stats.heldBytes);
    this.#put('busy', this.#busyMs / elapsedMs);
    this.#written++;
    this.#endsAt = this.#wall();
    this.#begin = { at: now, totals };
    // A late reading does not make the next minutes late.
    this.#due += MINUTE_MS * Math.ceil((now - this.#due + 1) / MINUTE_MS);
    this.#busyMs = 0;
  }

  /**
   * @param {Name} name
   * @param {number} value
   */
  #put(name, value) {
    const ring = /** @type {Float64Array} */ (this.#rings.get(name));
    ring[this.#written % MINUTES] = Math.round(value * 1000) / 1000;
  }

  /** @returns {HistoryView} */
  view() {
    const count = Math.min(this.#written, MINUTES);
    const first = this.#written - count;
    const series = [...this.#rings].map(([name, ring]) => [
      name,
      Array.from({ length: count }, (_, index) => ring[(first + index) % MINUTES])
    ]);
    return { stepS: MINUTE_MS / 1000, endsAt: this.#endsAt, series: Object.fromEntries(series) };
  }
}

/** @param {EngineStats} stats @returns {Record<typeof RATES[number], number>} */
function totalsOf({ counters, drops }) {
  return {
    received: counters.recordsReceived ?? 0,
    pushed: counters.recordsPushed ?? 0,
    delivered: counters.recordsDelivered ?? 0,
    dropped: sum(Object.values(drops).map(sum))
  };
}

/** @param {EngineStats} stats @returns {number} 0..1 */
function busiest({ placement }) {
  return Math.max(0, ...(placement?.workers ?? []).map(({ busy }) => busy));
}

/**
 * Returns the records that the cloud has not acknowledged: those in memory, and those that are only on disk.
 * @param {Pick<EngineStats, 'heldRecords' | 'backlogRecords'>} stats
 */
function waitingOf({ heldRecords, backlogRecords }) {
  return sum(heldRecords) + sum(backlogRecords);
}

/** @param {number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

exports.History = History;
exports.sum = sum;
exports.waitingOf = waitingOf;
