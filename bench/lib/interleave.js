'use strict';
// Rounds: each runs every case once, another one first in each, so that no case always has the warm or the cold machine. The
// cases of a chapter stay together: what is compared runs within minutes.

const { turned } = require('./pairs');

/**
 * @typedef {import('./chapter').Case} Case @typedef {import('./chapter').Outcome} Outcome
 * @typedef {{chapter: string, cases: Case[]}} Group @typedef {{chapter: string, round: number, entry: Case}} Turn
 */

/** @param {Group[]} groups @param {number} rounds @returns {Turn[]} in the order in which they run */
function turns(groups, rounds) {
  const full = groups.filter(({ cases }) => cases.length > 0);
  return Array.from({ length: rounds }, (_, round) =>
    turned(full, round).flatMap(({ chapter, cases }) =>
      turned(cases, round).map((entry) => ({ chapter, round, entry }))
    )
  ).flat();
}

/**
 * Runs them; one that fails does not stop the others. What is under way when `signal` fires is waited for: it cleans up.
 * @param {Turn[]} all @param {AbortSignal} signal
 * @param {{started?: (turn: Turn) => void, ended?: (outcome: Outcome, turn: Turn) => void}} [watch]
 * @returns {Promise<Outcome[]>}
 */
async function runAll(all, signal, { started = () => {}, ended = () => {} } = {}) {
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const turn of all) {
    if (signal.aborted) break;
    const { chapter, round, entry } = turn;
    started(turn);
    const since = Date.now();
    const previous = outcomes.filter((outcome) => outcome.chapter === chapter);
    /** @type {Outcome} */
    const outcome = { chapter, key: entry.key, round };
    try {
      outcome.result = await entry.run({ round, previous, signal });
    } catch (error) {
      outcome.error = error instanceof Error ? error.message : String(error);
    }
    outcome.seconds = (Date.now() - since) / 1000;
    // Half a measurement is none, and not a failure either.
    if (signal.aborted) break;
    outcomes.push(outcome);
    ended(outcome, turn);
  }
  return outcomes;
}

module.exports = { turns, runAll };
