'use strict';
// Estimates how long the waiting records of an engine will take, from the trend of their number.

/** Period of the trend, ms. A shorter one would follow every batch. */
const PERIOD_MS = 20000;
/** Records that wait for less than this at the present rate are in transit, not a backlog, s. */
const TRANSIT_S = 2;

/**
 * @typedef {object} Drain
 * @property {number} records that wait, in memory and on disk
 * @property {'none' | 'measuring' | 'shrinking' | 'growing'} trend
 * @property {number | null} seconds until none waits, if the trend continues; null unless it shrinks
 */

class DrainTime {
  /** @type {{ at: number, waiting: number }[]} the oldest first */
  #readings = [];

  /**
   * @param {number} now ms, monotonic
   * @param {number} waiting records
   * @param {number} deliveredPerS
   * @returns {Drain}
   */
  read(now, waiting, deliveredPerS) {
    const readings = this.#readings;
    readings.push({ at: now, waiting });
    while (now - readings[0].at > PERIOD_MS) readings.shift();
    if (waiting <= deliveredPerS * TRANSIT_S) return { records: waiting, trend: 'none', seconds: null };
    const [first] = readings;
    if (now - first.at < PERIOD_MS / 4) return { records: waiting, trend: 'measuring', seconds: null };
    const lessPerS = ((first.waiting - waiting) * 1000) / (now - first.at);
    if (lessPerS <= 0) return { records: waiting, trend: 'growing', seconds: null };
    return { records: waiting, trend: 'shrinking', seconds: Math.ceil(waiting / lessPerS) };
  }
}

exports.DrainTime = DrainTime;
