'use strict';
// What the status page shows of a device on the cards of its last values.

/**
 * @typedef {object} Shown
 * @property {string} state see record.js
 * @property {number} everyMs 0 = normal
 * @property {number} endsAt ms since 1970; 0 = no question
 * @property {number} askers
 * @property {string} reason why it is silent or refused
 * @property {number} leastMs shortest interval that may be asked for
 * @property {number} mostS longest duration
 */

/**
 * Adds `demand` to rows of last values whose device may be asked to send more often.
 * @param {Pick<import('./demand').Demand, 'view' | 'limitsOf'> | undefined} demand
 * @param {{ device: string, demand?: Shown }[]} rows
 */
function addShown(demand, rows) {
  for (const row of demand ? rows : []) {
    const limits = demand?.limitsOf(row.device);
    if (!demand || !limits) continue;
    const {
      state = 'normal',
      everyMs = 0,
      endsAt = 0,
      askers = [],
      reason = ''
    } = demand.view(row.device) ?? {};
    const { minEveryMs: leastMs, maxForS: mostS } = limits;
    row.demand = { state, everyMs, endsAt, askers: askers.length, reason, leastMs, mostS };
  }
}

module.exports = { addShown };
