'use strict';
// Warnings about doubtful figures: the generator or the machine was the limit, and not the measured system.

const os = require('node:os');
const { governors } = require('../harness/machine');
const { headline } = require('./report');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome */

const limits = {
  /** Fraction of the sends written more than 10 ms after the intended time. */
  late: 0.001,
  /** Fraction of one core for a process of the harness: each has one busy thread. */
  harness: 0.85,
  /** Fraction of the time of all cores. */
  steal: 0.02,
  /** Load average before the benchmark starts. */
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
 * Returns the warnings that are known before any run.
 * @param {Plan} plan
 * @param {{loadAverage?: number, governors?: string[]}} [machine] for tests
 * @returns {string[]}
 */
function machineWarnings(plan, machine = {}) {
  const { loadAverage = os.loadavg()[0], governors: found = governors() } = machine;
  const warnings = [];
  if (loadAverage > limits.load) {
    warnings.push(
      `The load average was ${loadAverage.toFixed(2)} before the first run: other programs use this machine.`
    );
  }
  const [system, harness] = [coresOf(plan.gatewayCpus), coresOf(plan.harnessCpus)];
  if (system.size === 0 || harness.size === 0) {
    warnings.push(
      'Nothing is pinned: generator, cloud and sink take CPU from the measured system. See --pin.'
    );
  } else if ([...system].some((core) => harness.has(core))) {
    warnings.push(
      `The system (cores ${plan.gatewayCpus}) and the harness (${plan.harnessCpus}) share cores. See --pin.`
    );
  }
  if (found.some((name) => name !== 'performance')) {
    warnings.push(
      `The frequency governor is ${found.join(', ')}, so a lightly loaded core runs slower, and latencies and CPU times vary. ` +
        'For steady results: sudo cpupower frequency-set -g performance.'
    );
  }
  return warnings;
}

/**
 * @param {any} result of measure() or like it @param {number} cores of the harness; 0 = not pinned
 * @param {number} mostSteal
 * @returns {string[]} doubts; the same kind has the same text
 */
function doubts(result, cores, mostSteal) {
  const { sent, harness = [], machine } = result;
  const found = [];
  if (sent?.sent > 0 && sent.late / sent.sent > limits.late) {
    found.push(`more than ${percent(limits.late)} of the sends were late: do not trust the latencies`);
  }
  for (const { name, cores: used } of harness) {
    if (used > limits.harness) {
      found.push(`${name} used more than ${limits.harness * 100} % of its core and may have been the limit`);
    }
  }
  const sum = harness.reduce((/** @type {number} */ all, /** @type {any} */ each) => all + each.cores, 0);
  if (cores > 0 && sum > limits.harness * cores) {
    found.push(
      `generator, cloud and sink together used more than ${limits.harness * 100} % of their ${cores} core(s)`
    );
  }
  if (machine?.steal > mostSteal) {
    found.push(`steal time was above ${percent(mostSteal)}`);
  }
  if (machine?.throttled > 0) found.push('a core was throttled because of its temperature');
  return found;
}

/**
 * Returns one sentence per kind of doubt, with its number of runs and their keys.
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
  const told = `${repeated} of ${measured.length} runs were repeated because their steal time was above ${percent(plan.mostSteal ?? 0)}.`;
  const found = [...where].map(([doubt, keys]) => {
    const names = [...new Set(keys)];
    const shown = names.length > 6 ? [...names.slice(0, 6), '…'] : names;
    return `In ${keys.length} of ${measured.length} runs ${doubt} (${shown.join(', ')}).`;
  });
  return repeated > 0 ? [told, ...found] : found;
}

/** @param {Outcome} outcome @returns {string[]} lost, duplicate and reordered records, an unclean exit, or the error */
function faults({ result, error }) {
  if (error) return [headline(error)];
  const { verdict, arrived, cleanEnd } = result ?? {};
  const found = [];
  if (verdict?.lost > 0) {
    const examples = verdict.examples?.length ? ` (${verdict.examples.join('; ')})` : '';
    found.push(`${verdict.lost} of ${result.sent?.acked} acknowledged records were lost${examples}`);
  }
  if (arrived?.outOfOrder > 0) found.push(`${arrived.outOfOrder} records arrived out of order`);
  if (arrived?.duplicates > 0) found.push(`${arrived.duplicates} duplicate records arrived`);
  if (cleanEnd === false) found.push('the system did not exit cleanly');
  return found;
}

/**
 * Failed runs are reported elsewhere.
 * @param {Outcome[]} outcomes
 * @returns {string[]} faults of the runs, and of discarded runs
 */
function faultWarnings(outcomes) {
  return outcomes.flatMap((outcome) => {
    const { key, round, result, again } = outcome;
    const discarded = (again?.faults ?? []).map((text) => `${text}, in a discarded run`);
    const found = result ? faults(outcome) : [];
    return [...found, ...discarded].map((text) => `${key}, round ${round + 1}: ${text}.`);
  });
}

/**
 * @param {string} where the case and its round @param {boolean} isBusy
 * @returns {string[]}
 */
const generatorWarnings = (where, isBusy) =>
  isBusy
    ? [
        `${where}: the generator used more than ${limits.harness * 100} % of its core and may have been the limit.`
      ]
    : [];

module.exports = { generatorWarnings, machineWarnings, runWarnings, faultWarnings, faults, coresOf, limits };
