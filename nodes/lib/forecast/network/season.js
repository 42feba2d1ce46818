'use strict';
// Season, slots and steps of the forecasts of the network.

const SLOT_S = 900;
const LEAST_SLOTS = 96;
const MOST_SLOTS = 672;
const STEP_MS = 60000;
/** What is connected is looked at this often. */
const LOOK_MS = 10000;

/**
 * @typedef {object} Season
 * @property {number} periodS
 * @property {number} slots
 * @property {number} stepMs a series gets a value this often
 * @property {number} lookMs
 */

/**
 * @param {number} seasonS 86400: slots of 15 minutes, steps of a minute. A shorter season has 96 slots, of a second at
 *   least; a longer one at most 672.
 * @returns {Season}
 */
function seasonOf(seasonS) {
  const periodS = Math.max(2, seasonS);
  const wanted = Math.min(MOST_SLOTS, Math.max(LEAST_SLOTS, Math.floor(periodS / SLOT_S)));
  const slots = Math.min(periodS, wanted);
  const slotMs = Math.floor((periodS * 1000) / slots);
  const stepMs = Math.min(STEP_MS, slotMs);
  return { periodS, slots, stepMs, lookMs: Math.min(LOOK_MS, stepMs) };
}

/** Returns the number of the slot of a time, as SeasonModel::SlotOf(). @param {Season} season @param {number} ms */
const slotOf = ({ periodS, slots }, ms) => Math.floor((ms * slots) / (periodS * 1000));

/** Returns when a slot begins, ms. @param {Season} season @param {number} slot */
const beginOf = ({ periodS, slots }, slot) => Math.ceil((slot * periodS * 1000) / slots);

module.exports = { beginOf, seasonOf, slotOf };
