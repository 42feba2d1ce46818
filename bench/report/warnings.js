'use strict';
// What makes figures doubtful: the generator or the machine was the limit, not what was measured.

const os = require('node:os');
const { governors } = require('../harness/machine');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome */

const limits = {
  /** Of the sends, written more than 10 ms after they were meant. */
  late: 0.001,
  /** Of one core, of a process of the harness: each has one busy thread. */
  harness: 0.85,
  /** Of the time of all cores. */
  steal: 0.02,
  /** Processes that want to run when nothing of ours does. */
  load: 0.5
};

/** @param {number} value */
const percent = (value) => `${(value * 100).toFixed(value < 0.01 ? 2 : 1)} %`;

/**
 * @param {string | undefined} list such as 0-2,4 @returns {Set<number>}
 */
function coresOf(list = '') {
  return new Set(
    list
      .split(',')
      .filter(Boolean)
      .flatMap((part) => {
        const [from, to = from] = part.split('-').map(Number);
        return Array.from({ length: to - from + 1 }, (_, i) => from + i);
      })
  );
}

/**
 * Known before anything runs.
 * @param {Plan} plan
 * @param {{loadAverage?: number, governors?: string[]}} [machine] for tests
 * @returns {string[]}
 */
function machineWarnings(plan, machine = {}) {
  const { loadAverage = os.loadavg()[0], governors: found = governors() } = machine;
  const warnings = [];
  if (loadAverage > limits.load) {
    warnings.push(
      `The load average was ${loadAverage.toFixed(2)} before anything ran: something else uses this machine.`
    );
  }
  const [system, harness] = [coresOf(plan.gatewayCpus), coresOf(plan.harnessCpus)];
  if (system.size === 0 || harness.size === 0) {
    warnings.push('Nothing is pinned: generator, cloud and sink take time from what is measured. See --pin.');
  } else if ([...system].some((core) => harness.has(core))) {
    warnings.push(
      `The system (cores ${plan.gatewayCpus}) and the harness (${plan.harnessCpus}) share cores. See --pin.`
    );
  }
  if (found.some((name) => name !== 'performance')) {
    warnings.push(
      `The frequency governor is ${found.join(', ')}, so a lightly loaded core runs slower: latencies and CPU times vary. ` +
        'For steady ones: sudo cpupower frequency-set -g performance.'
    );
  }
  return warnings;
}

/** @param {any} result of measure() or like it @param {number} cores of the harness; 0 = not pinned @param {number} mostSteal @returns {string[]} kinds of doubt, the same text for the same kind */
function doubts(result, cores, mostSteal) {
  const { sent, harness = [], machine } = result;
  const found = [];
  if (sent?.sent > 0 && sent.late / sent.sent > limits.late) {
    found.push(`over ${percent(limits.late)} of the sends were late: distrust the latencies`);
  }
  for (const { name, cores: used } of harness) {
    if (used > limits.harness) {
      found.push(`${name} used over ${limits.harness * 100} % of its core: it may have been the limit`);
    }
  }
  const sum = harness.reduce((/** @type {number} */ all, /** @type {any} */ each) => all + each.cores, 0);
  if (cores > 0 && sum > limits.harness * cores) {
    found.push(
      `generator, cloud and sink together used over ${limits.harness * 100} % of their ${cores} core(s)`
    );
  }
  if (machine?.steal > mostSteal) {
    found.push(`the hypervisor kept over ${percent(mostSteal)} of the time (steal)`);
  }
  if (machine?.throttled > 0) found.push('a core was throttled because it was hot');
  return found;
}

/**
 * Of the runs, one sentence a kind: how often, and where.
 * @param {Outcome[]} outcomes @param {Plan} plan @returns {string[]}
 */
function runWarnings(outcomes, plan) {
  const cores = coresOf(plan.harnessCpus).size;
  const mostSteal = Math.min(plan.mostSteal ?? limits.steal, limits.steal);
  const measured = outcomes.filter(({ result }) => result);
  /** @type {Map<string, string[]>} */
  const where = new Map();
  for (const { key, result } of measured) {
    for (const doubt of doubts(result, cores, mostSteal))
      where.set(doubt, [...(where.get(doubt) ?? []), key]);
  }
  const repeated = measured.filter(({ again }) => again).length;
  const told = `${repeated} of ${measured.length} runs were done again, as the hypervisor had kept over ${percent(plan.mostSteal ?? 0)} of the time.`;
  const found = [...where].map(([doubt, keys]) => {
    const names = [...new Set(keys)];
    const shown = names.length > 6 ? [...names.slice(0, 6), '…'] : names;
    return `In ${keys.length} of ${measured.length} runs ${doubt} (${shown.join(', ')}).`;
  });
  return repeated > 0 ? [told, ...found] : found;
}

/** @param {Outcome} outcome @returns {string[]} whatever was lost, twice, swapped or broken, or why it failed */
function faults({ result, error }) {
  if (error) return [error.split('\n')[0]];
  const { verdict, arrived, cleanEnd } = result ?? {};
  const found = [];
  if (verdict?.lost > 0) {
    const examples = verdict.examples?.length ? ` (${verdict.examples.join('; ')})` : '';
    found.push(`${verdict.lost} of ${result.sent?.acked} acknowledged records were lost${examples}`);
  }
  if (arrived?.outOfOrder > 0) found.push(`${arrived.outOfOrder} records came out of order`);
  if (arrived?.duplicates > 0) found.push(`${arrived.duplicates} records came twice`);
  if (cleanEnd === false) found.push('the system did not end cleanly');
  return found;
}

/** One that failed is told elsewhere. @param {Outcome[]} outcomes @returns {string[]} faults of the runs, and of those that were done again */
function faultWarnings(outcomes) {
  return outcomes.flatMap((outcome) => {
    const { key, round, result, again } = outcome;
    const discarded = (again?.faults ?? []).map((text) => `${text}, in a run that was done again`);
    const found = result ? faults(outcome) : [];
    return [...found, ...discarded].map((text) => `${key}, round ${round + 1}: ${text}.`);
  });
}

module.exports = { machineWarnings, runWarnings, faultWarnings, faults, coresOf, limits };
