'use strict';
// Checks, per device, class and lane (live, historical), that first deliveries are in the order in which the device
// sent.

const { excusesOf } = require('./excuses');
const { nameOf, streamOf } = require('./history');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 * @typedef {import('./history').Arrival} Arrival
 * @typedef {import('./checker').Known} Known
 */

/**
 * @param {History} history @param {Settings} settings @param {Map<string, Known>} known
 * @param {import('./checker').Findings} findings
 * @returns {number} swaps that have an excuse
 */
function checkOrder(history, settings, known, findings) {
  const excuses = excusesOf(history, settings, known);
  /** First deliveries of a lane, in order. @type {Map<string, {firsts: Arrival[], last: Arrival | null}>} */
  const lanes = new Map();
  /** Delivered in any lane: a repeat in the other lane, sent again by its device, is not a first delivery. */
  const delivered = new Set();
  let excused = 0;
  for (const arrival of history.arrivals) {
    const laneName = `${streamOf(arrival)} ${arrival.historical ? 'historical' : 'live'}`;
    let lane = lanes.get(laneName);
    if (!lane) {
      lane = { firsts: [], last: null };
      lanes.set(laneName, lane);
    }
    const name = nameOf(arrival);
    if (delivered.has(name)) continue;
    delivered.add(name);
    if (arrival.historical && !settings.oneBacklog) continue;
    const { last, firsts } = lane;
    if (!last || last.n < arrival.n) lane.last = arrival;
    else {
      const own = excuses.flatMap((excuse) => excuse(arrival) ?? []);
      // All later records are looked up only for a record with an excuse, so the whole stays linear.
      const overtakers = own.length > 0 ? firsts.filter(({ n }) => n > arrival.n) : [last];
      const guilty = overtakers.filter((later) => !own.some((mayOvertake) => mayOvertake(later)));
      if (guilty.length === 0) excused += 1;
      else {
        findings.add('swapped', `${laneName}: n${arrival.n} was first delivered after n${guilty[0].n}`, [
          guilty[0],
          arrival
        ]);
      }
    }
    firsts.push(arrival);
  }
  return excused;
}

module.exports = { checkOrder };
