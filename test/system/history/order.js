'use strict';
// Checks, per device, class and lane (live, historical), that first deliveries are in the order in which the device
// sent.

const { nameOf, streamOf } = require('./history');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 * @typedef {import('./history').Arrival} Arrival
 * @typedef {import('./history').Refusal} Refusal
 */

/**
 * A broker that refuses one PUBLISH and takes the next one, both in flight, has made the swap itself. So a later
 * record is excused if it left before the gateway can have known of the refusal.
 * @param {Refusal[]} refusals of the earlier record @param {Arrival} later @param {number} slackMs
 */
function isExcused(refusals, later, slackMs) {
  return refusals.some(({ sent, time }) => later.sent >= sent && later.sent <= time + slackMs);
}

/**
 * @param {History} history @param {Settings} settings @param {import('./checker').Findings} findings
 * @returns {number} swaps that the broker's refusals explain
 */
function checkOrder(history, settings, findings) {
  /** @type {Map<string, Refusal[]>} */
  const refusalsOf = new Map();
  for (const refusal of history.refusals) {
    const name = nameOf(refusal);
    const list = refusalsOf.get(name);
    if (list) list.push(refusal);
    else refusalsOf.set(name, [refusal]);
  }
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
      const refusals = refusalsOf.get(name) || [];
      // Only refused records are looked up, so the whole stays linear.
      const overtakers = refusals.length > 0 ? firsts.filter(({ n }) => n > arrival.n) : [last];
      const guilty = overtakers.filter((later) => !isExcused(refusals, later, settings.slackMs));
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
