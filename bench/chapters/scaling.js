'use strict';
// Measures the effect of more workers, and of pinning them, at saturation. Gateway and harness share all cores here,
// and the report has the harness's share.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { loadOf } = require('../runs/load');
const { ratios } = require('../report/pairs');
const { allowedCores, groupPids } = require('../harness/proc');
const { cells, markdown, median, ratioOf, resultsOf, spread, titles } = require('../report/report');
const { isLowerBound, lastGood, limitOf, rates, startFrom } = require('../runs/staircase');
const { climb } = require('../runs/staircase-run');
const { haveTool } = require('../harness/tools');

const SYSTEM = 'seganet-adaptive';
const DEVICES = 256;
const STEP_SECONDS = 4;
const GROWTH = 1.2;
const STEPS = 8;
const COARSE = { from: 4000, growth: 2, steps: 8, seconds: 2 };
/** Ratios nearer to 1 than this are not significant on a shared machine. */
const NOTICEABLE = 0.05;

/** Returns 1, 2, 4 … and the number of cores. @param {number} cores @returns {number[]} */
function workerCounts(cores) {
  const counts = [];
  for (let n = 1; n < cores; n *= 2) counts.push(n);
  return [...counts, cores];
}

/** @param {number} workers @param {boolean} pinned */
const keyOf = (workers, pinned) =>
  `${workers} worker${workers > 1 ? 's' : ''}, ${pinned ? 'pinned' : 'not pinned'}`;

/**
 * Returns the last cores: the first one runs Node-RED and takes the interrupts.
 * @param {number[]} cores @param {number} workers
 */
const coresFor = (cores, workers) => cores.slice(-workers).join(',');

/**
 * Lets the kernel move the workers of this gateway between all cores again.
 * @param {import('../runs/stage').Stage} stage @param {number[]} cores
 * @returns {number} workers that were unpinned
 */
function unpin(stage, cores) {
  let count = 0;
  for (const pid of groupPids(stage.system?.children[0].pid ?? 0)) {
    for (const tid of fs.readdirSync(`/proc/${pid}/task`)) {
      if (!fs.readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').startsWith('seganet-w')) continue;
      execFileSync('taskset', ['-pc', cores.join(','), tid], { stdio: 'ignore' });
      count += 1;
    }
  }
  return count;
}

/**
 * @param {{workers: number, pinned: boolean}} variant @param {import('../options/chapter').Plan} plan
 * @param {import('../options/chapter').CaseContext} context
 */
async function run({ workers, pinned }, plan, { previous }) {
  const cores = allowedCores();
  const gatewayEnv = { SEGANET_WORKERS: String(workers), 'seganet-engine.cpus': coresFor(cores, workers) };
  const shared = { gatewayCpus: undefined, harnessCpus: undefined };
  const profile = { ...loadOf(plan, { devices: plan.sizes.devices ?? DEVICES, gatewayEnv }), ...shared };
  /** @param {import('../runs/stage').Stage} stage */
  const begin = (stage) => {
    if (!pinned && unpin(stage, cores) !== workers) throw new Error('not every worker could be unpinned');
  };
  // All variants begin at the same rate, derived from all earlier results.
  let from = startFrom(previous.flatMap(({ result }) => (result ? [result.rate] : [])));
  if (from === 0) {
    const { from: low, growth, steps, seconds } = COARSE;
    const coarse = lastGood(await climb(SYSTEM, profile, rates(low, growth, steps), seconds, begin));
    from = startFrom([coarse.rate]) || low / 2;
  }
  const steps = await climb(
    SYSTEM,
    profile,
    rates(from, GROWTH, STEPS),
    plan.quick ? 2 : STEP_SECONDS,
    begin
  );
  const { rate, good, failed, why } = lastGood(steps);
  const used = good?.system?.cores ?? NaN;
  const by = good?.harness?.cores ?? NaN;
  return {
    rate,
    why,
    good,
    failed,
    steps,
    limit: limitShared(good, failed, cores.length),
    microseconds: rate > 0 ? (used / rate) * 1e6 : undefined,
    harnessShare: by / (used + by)
  };
}

/**
 * Returns the limit where gateway and harness share the cores. Neither fills them alone, so if both together use all of
 * them, the harness was the limit.
 * @param {import('../runs/staircase').Step | undefined} good @param {import('../runs/staircase').Step | undefined} failed
 * @param {number} cores
 * @returns {import('../runs/staircase').Limit}
 */
function limitShared(good, failed, cores) {
  const limit = limitOf(good, failed);
  const all = (failed?.system?.cores ?? 0) + (failed?.harness?.cores ?? 0);
  return limit === 'neither' && all >= 0.9 * cores ? 'harness' : limit;
}

/**
 * @typedef {{variant: string, round: number, rate: number, limit: import('../runs/staircase').Limit,
 *            microseconds?: number}} Value
 * @param {string} what such as 'A second worker' @param {Value[]} values @param {string} key @param {string} base
 * @returns {string} one sentence about messages per second, or about CPU per message if the gateway was not the limit
 */
function verdict(what, values, key, base) {
  const own = values.filter(({ variant }) => variant === key || variant === base);
  const byCpu = own.some(({ limit }) => isLowerBound(limit));
  const found = ratios(/** @type {any} */ (own), key, base, (each) =>
    byCpu ? each.microseconds : each.rate
  );
  if (found.length === 0) return `${what}: not measured.`;
  const gain = byCpu ? 1 / median(found) : median(found);
  const range = `× ${spread(found, 2)} ${byCpu ? 'in CPU per message' : 'in messages per second'}`;
  const where = byCpu ? 'here (the gateway was not the limit)' : 'here';
  if (gain > 1 + NOTICEABLE) return `${what} helps ${where}: ${range}.`;
  if (gain < 1 - NOTICEABLE) return `${what} costs more than it brings ${where}: ${range}.`;
  return `${what} does not help ${where}: ${range}.`;
}

/** @type {import('../report/report').Columns} */
const columns = [
  ['msg/s', ({ rate }) => rate, 0],
  ['CPU µs per message', ({ microseconds }) => microseconds, 1],
  ['cores of the gateway', ({ good }) => good?.system?.cores, 2],
  ["harness's share of the CPU, %", ({ harnessShare }) => harnessShare * 100, 0]
];

/** @param {import('../options/chapter').Outcome[]} outcomes @returns {import('../options/chapter').Section} */
function report(outcomes) {
  const good = outcomes.filter(({ result }) => result);
  const keys = [...new Set(good.map(({ key }) => key))].sort((a, b) =>
    a.localeCompare(b, 'en', { numeric: true })
  );
  const values = good.map(({ key, round, result }) => ({ variant: key, round, ...result }));
  /** @param {string} key @param {string} base @param {(run: any) => number | undefined} [value] */
  const between = (key, base, value = (each) => each.rate) =>
    ratios(/** @type {any} */ (values), key, base, value);
  const counts = [...new Set(keys.map((key) => parseInt(key, 10)))];
  const rows = keys.map((key) => {
    const runs = resultsOf(outcomes, key);
    const bounded = runs.filter(({ limit }) => isLowerBound(limit)).length * 2 > runs.length;
    const [rate, ...others] = cells(runs, columns);
    return [key, `${bounded ? '≥ ' : ''}${rate}`, ...others, runs.map(({ limit }) => limit).join(', ')];
  });
  const most = Math.max(1, ...counts);
  const sentences = [
    ...counts
      .filter((count) => count > 1)
      .map((count) =>
        verdict(`${count} workers instead of one (pinned)`, values, keyOf(count, true), keyOf(1, true))
      ),
    ...counts.map((count) =>
      verdict(
        `Pinning ${count} worker${count > 1 ? 's' : ''}`,
        values,
        keyOf(count, true),
        keyOf(count, false)
      )
    )
  ];
  const bounded = good.some(({ result }) => isLowerBound(result.limit));
  const cpu = (/** @type {any} */ each) => each.microseconds;
  return {
    heading: 'Scaling',
    markdown: [
      markdown(['workers', ...titles(columns), 'limit'], rows),
      "Gateway, generator, cloud and sink share all cores of the machine here. CPU µs per message is the gateway's at the last good step: it shows the cost of a variant even if the harness leaves the gateway too little CPU to reach its capacity.",
      ...(bounded
        ? [
            '**The harness was the limit in some of these runs: their msg/s depend on it as much as on the gateway.**'
          ]
        : []),
      ...sentences
    ].join('\n\n'),
    ratios:
      counts.length > 0
        ? [
            ...(most > 1
              ? [
                  ...ratioOf(
                    `messages per second, ${most} workers / 1 (pinned)`,
                    between(keyOf(most, true), keyOf(1, true))
                  ),
                  ...ratioOf(
                    `CPU per message, ${most} workers / 1 (pinned)`,
                    between(keyOf(most, true), keyOf(1, true), cpu)
                  )
                ]
              : []),
            ...ratioOf(
              'messages per second, 1 worker, pinned / not',
              between(keyOf(1, true), keyOf(1, false))
            ),
            ...ratioOf(
              'CPU per message, 1 worker, pinned / not',
              between(keyOf(1, true), keyOf(1, false), cpu)
            )
          ]
        : [],
    plots: [],
    warnings: bounded ? ['scaling: the harness competes with the gateway for its cores on this machine.'] : []
  };
}

/**
 * @type {import('../options/chapter').Chapter &
 *        {verdict: typeof verdict, limitShared: typeof limitShared, workerCounts: typeof workerCounts}}
 */
module.exports = {
  name: 'scaling',
  title: 'Scaling',
  what: 'Capacity and CPU per message with 1, 2 … workers, pinned and not pinned, on cores shared with the harness.',
  cases: (plan) =>
    workerCounts(allowedCores().length).flatMap((workers) =>
      [true, false]
        .filter((pinned) => pinned || haveTool('taskset'))
        .map((pinned) => ({
          key: keyOf(workers, pinned),
          label: `scaling: ${keyOf(workers, pinned)}`,
          seconds: plan.quick ? 30 : 45,
          run: (/** @type {import('../options/chapter').CaseContext} */ context) =>
            run({ workers, pinned }, plan, context)
        }))
    ),
  lacking: () =>
    haveTool('taskset')
      ? []
      : [{ label: 'workers that are not pinned', why: 'taskset was not found (util-linux).' }],
  report,
  verdict,
  limitShared,
  workerCounts
};
