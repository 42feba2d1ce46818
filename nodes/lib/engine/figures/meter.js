'use strict';
// Computes rates per second from two readings of the counters.

/**
 * @typedef {import('../../../../native/index.js').EngineStats} EngineStats
 * @typedef {{ recordsIn: number, recordsOut: number, batches: number, copiesDropped: number,
 *   filtered: number }} StageRate
 * @typedef {{ seconds: number, stages: Map<number, StageRate>, counters: Record<string, number> }} Rates
 */

class Meter {
  #now;
  #at;
  /** @type {EngineStats | null} */
  #last;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#at = now();
    this.#last = null;
  }

  /**
   * @param {EngineStats} stats
   * @returns {Rates} since the previous reading; zeros for the first
   */
  read(stats) {
    const now = this.#now();
    const seconds = Math.max((now - this.#at) / 1000, 0.001);
    const before = this.#last;
    this.#at = now;
    this.#last = stats;
    // A counter that is new or decreased, because its stage was created again, counts from zero.
    const per = (/** @type {number} */ value, /** @type {number | undefined} */ old) =>
      before ? round((value - (old !== undefined && old <= value ? old : 0)) / seconds) : 0;
    const old = new Map(before?.stages.map((stage) => [stage.id, stage]));
    const stages = new Map(
      stats.stages.map((stage) => {
        const was = old.get(stage.id);
        const rates = {
          recordsIn: per(stage.recordsIn, was?.recordsIn),
          recordsOut: per(stage.recordsOut, was?.recordsOut),
          batches: per(stage.batches, was?.batches),
          copiesDropped: per(stage.copiesDropped, was?.copiesDropped),
          filtered: per(stage.filtered, was?.filtered)
        };
        return [stage.id, rates];
      })
    );
    const names = Object.entries(stats.counters);
    const counters = Object.fromEntries(
      names.map(([name, value]) => [name, per(value, before?.counters[name])])
    );
    return { seconds: round(seconds), stages, counters };
  }
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}

exports.Meter = Meter;
