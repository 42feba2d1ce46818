'use strict';
// Checks the set-up of an interface, and whether it is what apply made.

const { isAsMade, stateOf } = require('./qdisc-steps');
const { verdictOf } = require('./verdict');

/** @typedef {import('./inspect-qdisc').Facts} Facts */

/**
 * applied: what apply made, null = it did not run here.
 * @typedef {import('./verdict').Verdict & { applied: import('./qdisc-state').Made | null, asApplied: boolean }} Checked
 */

/**
 * @param {Facts} facts
 * @param {string} directory
 * @returns {Checked}
 */
function checkChange(facts, directory) {
  const state = stateOf(directory, facts);
  const verdict = verdictOf(facts);
  return { ...verdict, applied: state?.made ?? null, asApplied: state !== null && isAsMade(state, facts) };
}

module.exports = { checkChange };
