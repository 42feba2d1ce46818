'use strict';
// How an interface is set up, and whether that is what apply made of it.

const { isAsMade, stateOf } = require('./qdisc-steps');
const { verdictOf } = require('./verdict');

/** @typedef {import('./inspect-qdisc').Facts} Facts */

/** @typedef {import('./verdict').Verdict & { applied: import('./qdisc-state').Made | null, asApplied: boolean }} Checked applied: what apply made, null = it was not here */

/** @param {Facts} facts @param {string} directory @returns {Checked} */
function checkChange(facts, directory) {
  const state = stateOf(directory, facts);
  const verdict = verdictOf(facts);
  return { ...verdict, applied: state?.made ?? null, asApplied: state !== null && isAsMade(state, facts) };
}

module.exports = { checkChange };
