'use strict';
// Finds the capacity of a system: the load rises step by step until a step fails.

const { adapters } = require('../systems');
const { loadOf } = require('../runs/load');
const { ratios } = require('../report/pairs');
const { markdown, median, ratioOf, resultsOf, spread } = require('../report/report');
const { isLowerBound, lastGood, limitOf, load, rates, startFrom } = require('../runs/staircase');
const { climb } = require('../runs/staircase-run');

const SYSTEMS = ['seganet-adaptive', 'seganet-records', 'nodered', 'mosquitto-bridge', 'bare'];
const DEVICES = 256;
const STEP_SECONDS = 4;
const GROWTH = 1.15;
/** From 0.6 of the rate found before to 2.4 times that rate. */
const STEPS = 11;
/** The first, coarse search: 2,000, 4,000 … 512,000 msg/s, two seconds each. */
const COARSE = { from: 2000, growth: 2, steps: 9, seconds: 2 };
const QUICK = { growth: 1.3, seconds: 2, steps: 6 };
/**
 * A staircase whose first step fails starts again at half of it; one without a failed step starts again at its last.
 */
const TRIES = 3;
const TARGETS = { nodered: '≥ 10', 'mosquitto-bridge': '≥ 4' };

/**
 * @typedef {object} Found
 * @property {number} rate msg/s of the last good step, 0 = the first one failed
 * @property {import('../runs/staircase').Limit} limit
 * @property {string} why the first failed step failed @property {import('../runs/staircase').Step | undefined} good
 * @property {import('../runs/staircase').Step | undefined} failed
 */

/** @param {import('../runs/staircase').Step[]} steps @returns {Found} */
function describe(steps) {
  const { rate, good, failed, why } = lastGood(steps);
  return { rate, limit: limitOf(good, failed), why, good, failed };
}

/**
 * @param {string} name of the system @param {import('../options/chapter').Plan} plan
 * @param {import('../options/chapter').CaseContext} context
 */
async function run(name, plan, { previous, signal }) {
  const profile = loadOf(plan, { devices: plan.sizes.devices ?? DEVICES });
  const before = previous
    .filter(({ key, result }) => key === name && result)
    .map(({ result }) => result.rate);
  let from = startFrom(before);
  if (from === 0) {
    const { from: low, growth, steps, seconds } = COARSE;
    from =
      startFrom([describe(await climb(name, profile, rates(low, growth, steps), seconds)).rate]) || low / 2;
  }
  const { growth, seconds, steps } = plan.quick
    ? QUICK
    : { growth: GROWTH, seconds: STEP_SECONDS, steps: STEPS };
  for (let left = TRIES; ; left -= 1) {
    const all = await climb(name, profile, rates(from, growth, steps), seconds);
    const found = describe(all);
    const { rate, limit } = found;
    const isOver = rate > 0 && limit !== 'not reached';
    if (isOver || left === 1 || signal?.aborted) return { ...found, steps: all, from };
    from = rate > 0 ? rate : Math.max(1, Math.round(from / 2));
  }
}

/** @param {{cores: number, of: number, busiest: {name: string, cores: number}} | undefined} use */
const useCell = (use) =>
  use
    ? `${Math.round(load(use) * 100)} % (${use.cores.toFixed(2)} of ${use.of}; ${use.busiest.name} ${use.busiest.cores.toFixed(2)})`
    : '–';

/** Returns the round whose rate is nearest to the median. @param {Found[]} runs @returns {Found} */
function typical(runs) {
  const middle = median(runs.map(({ rate }) => rate));
  return runs.reduce((a, b) => (Math.abs(b.rate - middle) < Math.abs(a.rate - middle) ? b : a));
}

/** @param {Found[]} runs @returns {boolean} true if the harness was the limit in most of them */
const isBound = (runs) => runs.filter(({ limit }) => isLowerBound(limit)).length * 2 > runs.length;

/** @param {string} key @param {Found[]} runs */
function row(key, runs) {
  const { good, failed, why, limit } = typical(runs);
  const limits = runs.map((each) => each.limit);
  const same = limits.filter((each) => each === limit).length;
  return [
    key,
    `${isBound(runs) ? '≥ ' : ''}${spread(
      runs.map(({ rate }) => rate),
      0
    )}`,
    good
      ? spread(
          runs.map((each) => each.good?.p99Ms),
          0
        )
      : '–',
    why || 'none failed',
    `${limit}${runs.length > 1 ? ` (${same} of ${runs.length})` : ''}`,
    useCell(failed?.system ?? good?.system),
    useCell(failed?.harness ?? good?.harness)
  ];
}

/** @param {string} key @param {Found[]} runs @param {Found[]} base @param {string} name @returns {string[]} */
function doubts(key, runs, base, name) {
  const own = isBound(runs)
    ? [`${key} did not reach its own limit: its capacity and its ratios are lower bounds.`]
    : [];
  const other = isBound(base)
    ? [`${name} did not reach its own limit: it could do more, so ratios to it are too high.`]
    : [];
  return [...own, ...other];
}

/** @param {import('../options/chapter').Outcome[]} outcomes @returns {import('../options/chapter').Section} */
function report(outcomes) {
  const good = outcomes.filter(({ result }) => result);
  const keys = SYSTEMS.filter((name) => good.some(({ key }) => key === name));
  for (const { key } of good) if (!keys.includes(key)) keys.push(key);
  /** @param {string} key @returns {Found[]} */
  const runsOf = (key) => resultsOf(outcomes, key);
  const values = good.map(({ key, round, result }) => ({ variant: key, round, rate: result.rate }));
  const warnings = new Set(/** @type {string[]} */ ([]));
  const compared = keys
    .filter((key) => key.startsWith('seganet'))
    .flatMap((key) =>
      Object.entries(TARGETS)
        .filter(([name]) => keys.includes(name))
        .flatMap(([name, target]) => {
          const found = ratios(/** @type {any} */ (values), key, name, ({ rate }) => rate);
          for (const doubt of doubts(key, runsOf(key), runsOf(name), name)) warnings.add(doubt);
          const isFirst = key === 'seganet-adaptive';
          const isMore = isBound(runsOf(key)) && !isBound(runsOf(name));
          const what = `capacity, ${key} / ${name}${isMore ? ' (at least)' : ''}`;
          return ratioOf(what, found, isFirst ? target : undefined);
        })
    );
  for (const key of keys) {
    if (runsOf(key).some(({ limit }) => limit === 'others')) {
      warnings.add(`Other programs used the cores in a round of ${key}: do not trust it.`);
    }
    if (runsOf(key).some(({ rate }) => rate === 0))
      warnings.add(`The first step of ${key} failed in a round.`);
  }
  const head = [
    'system',
    'msg/s',
    'p99 ms at that rate',
    'why the next step failed',
    'limit',
    'system busy',
    'harness busy'
  ];
  const text = [
    markdown(
      head,
      keys.map((key) => row(key, runsOf(key)))
    ),
    'The highest rate of all devices together at which every message of a whole step was acknowledged and arrived, with p99 below 1 s from the time at which the device intended to send (bare: to the acknowledgement). _busy_ describes the failed step: the cores used of those available, or the busiest thread, which cannot use more than one.'
  ];
  return {
    heading: 'Capacity',
    markdown: text.join('\n\n'),
    ratios: compared,
    plots: [],
    warnings: [...warnings]
  };
}

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'capacity',
  title: 'Capacity',
  what: 'The highest sustained rate with p99 below 1 s and no loss, and what limited it.',
  cases: (plan) =>
    wanted(plan)
      .filter((name) => adapters.some((each) => each.name === name && !each.lacking()))
      .map((name) => ({
        key: name,
        label: `${name}, rising load`,
        seconds: plan.quick ? 45 : 50,
        run: (context) => run(name, plan, context)
      })),
  lacking: (plan) =>
    wanted(plan).flatMap((name) => {
      const why = adapters.find((each) => each.name === name)?.lacking() ?? '';
      return why ? [{ label: name, why }] : [];
    }),
  report
};

/** @param {import('../options/chapter').Plan} plan */
const wanted = (plan) => (plan.systems.length > 0 ? plan.systems : SYSTEMS);
