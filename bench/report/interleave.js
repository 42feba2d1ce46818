'use strict';
// Runs the cases in rounds. Each round runs every case once and begins with a different one, so no case always finds
// the machine warm or cold. The cases of a chapter stay together, so compared runs are minutes apart.

const { machineTimes, machineUse } = require('../harness/machine');
const { turned } = require('./pairs');
const { faults } = require('./warnings');

/** The most repetitions of a run that the hypervisor disturbed. */
const MOST_AGAIN = 2;

/**
 * @typedef {import('../options/chapter').Case} Case @typedef {import('../options/chapter').Outcome} Outcome
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
 * Runs one case once.
 * @param {Turn} turn @param {Outcome[]} previous @param {AbortSignal} signal
 * @returns {Promise<{outcome: Outcome, steal: number}>} steal: fraction of the time that the hypervisor kept
 */
async function runOne({ chapter, round, entry }, previous, signal) {
  const [since, before] = [Date.now(), machineTimes()];
  /** @type {Outcome} */
  const outcome = { chapter, key: entry.key, round };
  try {
    outcome.result = await entry.run({ round, previous, signal });
  } catch (error) {
    outcome.error = error instanceof Error ? error.message : String(error);
  }
  outcome.seconds = (Date.now() - since) / 1000;
  return { outcome, steal: outcome.result?.machine?.steal ?? machineUse(before, machineTimes()).steal };
}

/**
 * Runs all turns. A failed case does not stop the others. When `signal` fires, waits for the running case to clean up.
 * @param {Turn[]} all @param {AbortSignal} signal
 * @param {object} [options]
 * @param {number} [options.mostSteal] a run with more steal time is repeated, at most MOST_AGAIN times. The run with
 *          the least steal time counts, whatever its result; faults of the others are reported, too
 * @param {(turn: Turn) => void} [options.started] @param {(outcome: Outcome, turn: Turn) => void} [options.ended]
 * @returns {Promise<Outcome[]>}
 */
async function runAll(all, signal, { mostSteal = Infinity, started = () => {}, ended = () => {} } = {}) {
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const turn of all) {
    if (signal.aborted) break;
    const previous = outcomes.filter((outcome) => outcome.chapter === turn.chapter);
    started(turn);
    let best = await runOne(turn, previous, signal);
    /** @type {Outcome[]} */
    const others = [];
    while (others.length < MOST_AGAIN && best.steal > mostSteal && !signal.aborted) {
      const next = await runOne(turn, previous, signal);
      const isBetter = next.steal < best.steal;
      others.push((isBetter ? best : next).outcome);
      if (isBetter) best = next;
    }
    // An aborted run is neither a result nor a failure.
    if (signal.aborted) break;
    const { outcome } = best;
    if (others.length > 0) outcome.again = { times: others.length, faults: others.flatMap(faults) };
    outcomes.push(outcome);
    ended(outcome, turn);
  }
  return outcomes;
}

module.exports = { turns, runAll };
