'use strict';

/** Records that could move do not wait longer than this without a reason. */
const STALL_MS = 5000;
/** A session that pauses for a reason of its own, for example a quota of the broker, may do so for this long. */
const PAUSE_MS = 120000;
/** A second stall within this time is a fault that does not go away by itself. */
const REPEAT_MS = 600000;
/** Wake-ups in a row that did not help, after which the session is made again. */
const RENEW_AFTER = 3;

/**
 * What waits: 'live' and 'backlog' in memory, 'log' on disk, 'taken' = taken from the engine, and neither sent nor
 * given back.
 * @typedef {'live' | 'backlog' | 'log' | 'taken'} Waiting
 */

/** @type {Record<Waiting, string>} */
const PLACES = {
  live: 'in memory',
  backlog: 'in memory, read from the log',
  log: 'on disk',
  taken: 'at the session'
};

/**
 * Watches that records move while the way is free: a session is up and has room, nothing is in flight, and records
 * wait. Each thread of the way sleeps until another one wakes it, so this state lasts only if a wake-up was missed. The
 * watch then wakes everybody, counts the stall and reports it.
 */
class StallWatch {
  /**
   * @param {object} parts
   * @param {() => Waiting | null} parts.waiting what waits although the way is free, null = nothing
   * @param {() => boolean} [parts.isPausing] the session sends nothing, for a reason that ends
   * @param {() => number} parts.activity changes whenever something moves
   * @param {() => void} parts.wake wakes everything that could move a record
   * @param {() => void} [parts.renew] makes the session again
   * @param {() => number} parts.now ms, monotonic
   * @param {(code: string, reason: string) => void} parts.problem
   */
  constructor(parts) {
    this.parts = { isPausing: () => false, renew: () => {}, ...parts };
    /** Stalls since the start of the thread. */
    this.count = 0;
    this.lastAt = -Infinity;
    this.beforeAt = -Infinity;
    /** When the present state began, -1 = nothing waits. */
    this.since = -1;
    this.moved = NaN;
    /** Stalls since something moved. */
    this.inRow = 0;
  }

  /** True if something waited at the last check: the next one must not be left out. */
  get isAlert() {
    return this.since >= 0;
  }

  /** True if records stood still twice within ten minutes. */
  get isRepeating() {
    const { lastAt, beforeAt } = this;
    return lastAt - beforeAt < REPEAT_MS && this.parts.now() - lastAt < REPEAT_MS;
  }

  /** Call it once a second while something waits. */
  check() {
    const { waiting, activity, isPausing, now } = this.parts;
    const what = waiting();
    const moved = activity();
    if (moved !== this.moved) {
      this.moved = moved;
      this.inRow = 0;
      this.since = -1;
    }
    if (what === null) {
      this.since = -1;
      return;
    }
    if (this.since < 0) this.since = now();
    const limit = isPausing() ? PAUSE_MS : STALL_MS;
    if (now() - this.since >= limit) this.#stalled(what);
  }

  /** @param {Waiting} what */
  #stalled(what) {
    const { now, problem, wake, renew } = this.parts;
    const seconds = Math.round((now() - this.since) / 1000);
    this.count++;
    this.inRow++;
    this.beforeAt = this.lastAt;
    this.since = this.lastAt = now();
    problem(
      'STALL',
      `Records that wait ${PLACES[what]} did not move for ${seconds} s although the session is up and has room. They were woken up; please report it as a fault of the gateway if it repeats.`
    );
    wake();
    // Another session does not make the disk answer.
    if (this.inRow % RENEW_AFTER === 0 && what !== 'log') renew();
  }
}

exports.StallWatch = StallWatch;
