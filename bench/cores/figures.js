'use strict';
// The arithmetic of bench/questions/cores.js: what a record costs each kind of thread, and whether more workers help.

const { median, spread } = require('../report/report');

/**
 * @typedef {{tid: number, name: string, cpuUs: number, waitedUs: number, voluntary: number,
 *            involuntary: number}} Thread
 * @typedef {{fromS: number, toS: number, realtimeAheadS: number, seconds: number, records: number, publishes: number, uplinkBytes: number,
 *            commits: number, lost: number, slowTurns: number, threads: Thread[]}} Output of cores_bench
 * @typedef {{us: number, voluntary: number, involuntary: number}} Cost of a kind of thread: CPU µs a record, and
 *          context switches per 1,000 records
 * @typedef {{workers: number, perSecond: number, costs: Record<string, Cost>, limit: string, allows: number,
 *            workersAllow: number, loadAllows: number}} Figures allows: records/s if each thread of the gateway had a
 *          core, from its CPU time; limit: the kind of thread that allows the fewest; loadAllows: the same of the load
 */

/** The kinds of threads by their names. The first three are the gateway's. @type {[kind: string, name: RegExp][]} */
const KINDS = [
  ['workers', /^seganet-w\d+$/],
  ['uplink', /^seganet-uplink$/],
  ['store', /^seganet-store$/],
  ['devices', /^load-devices$/],
  ['broker', /^load-broker$/]
];
const OWN = ['workers', 'uplink', 'store'];
/** Two thirds of what one more worker could bring at best. */
const ENOUGH = 2 / 3;

/** @param {string} name of a thread @returns {string} its kind; 'others' */
const kindOf = (name) => KINDS.find(([, pattern]) => pattern.test(name))?.[0] ?? 'others';

/** @param {number} workers @param {Output} output @returns {Figures} */
function figuresOf(workers, { records, seconds, lost, threads }) {
  if (lost > 0) throw new Error(`${lost} records with a PUBACK did not arrive at the broker's end.`);
  if (!(records > 0)) throw new Error('No record was acknowledged in the measured time. Increase --seconds.');
  /** @type {Record<string, Cost>} */
  const costs = {};
  for (const { name, cpuUs, voluntary, involuntary } of threads) {
    const cost = (costs[kindOf(name)] ??= { us: 0, voluntary: 0, involuntary: 0 });
    cost.us += cpuUs / records;
    cost.voluntary += (voluntary * 1000) / records;
    cost.involuntary += (involuntary * 1000) / records;
  }
  // There are as many threads of devices as workers, and one of each other kind.
  const allows = (/** @type {string} */ kind) =>
    ((kind === 'workers' || kind === 'devices' ? workers : 1) * 1e6) / (costs[kind]?.us ?? 0);
  const present = OWN.filter((kind) => costs[kind]);
  const limit = present.reduce((least, kind) => (allows(kind) < allows(least) ? kind : least));
  const perSecond = records / seconds;
  const loadAllows = Math.min(allows('devices'), allows('broker'));
  return {
    workers,
    perSecond,
    costs,
    limit,
    allows: allows(limit),
    workersAllow: allows('workers'),
    loadAllows
  };
}

/**
 * Compares runs of the same round.
 * @param {(Figures & {round: number})[]} runs of the same log @param {number} workers
 * @returns {number[]} records that the CPU time of these workers allows ÷ those of one worker
 */
function scaling(runs, workers) {
  return runs
    .filter((run) => run.workers === workers)
    .flatMap((run) => {
      const one = runs.find((each) => each.workers === 1 && each.round === run.round);
      return one ? [run.workersAllow / one.workersAllow] : [];
    });
}

/** @param {number[]} values records a second @returns {string} in thousands, with the range */
function thousands(values) {
  const text = (/** @type {number} */ value) => Math.round(value / 1000).toLocaleString('en-US');
  const [low, high] = [text(Math.min(...values)), text(Math.max(...values))];
  return low === high ? low : `${text(median(values))} [${low}..${high}]`;
}

/**
 * @param {number} workers @param {(Figures & {round: number})[]} runs of the same log
 * @returns {string} sentences; '' = there is no run with one worker, or with this number
 */
function verdict(workers, runs) {
  const found = scaling(runs, workers);
  if (found.length === 0) return '';
  const helps = median(found) >= 1 + (workers - 1) * ENOUGH;
  const own = runs.filter((run) => run.workers === workers);
  const limits = [...new Set(own.map(({ limit }) => limit))].join(' or ');
  const most = thousands(own.map(({ allows }) => allows));
  const isLoaded = own.every(({ allows, loadAllows }) => loadAllows > allows);
  return [
    `${workers} workers ${helps ? 'scale' : 'do not scale'}: with a core each they handle × ${spread(found, 2)} the`,
    `records of one worker (${workers} at best), because a record takes ×`,
    `${spread(
      found.map((value) => workers / value),
      2
    )} their CPU. With a core for each thread, the limit is ${limits}, at ${most} thousand records/s;`,
    `the load allows ${thousands(own.map(({ loadAllows }) => loadAllows))} thousand${isLoaded ? '' : ', so it is the limit'}.`
  ].join(' ');
}

/**
 * Counts the traced events of each kind of thread in the measured time.
 * @param {string} trace lines that begin with a thread id and a time in seconds, as strace and perf print them
 * @param {Output} output of the same run @param {boolean} isRealtime the times are, and not monotonic ones
 * @returns {Record<string, number>} per 1,000 records
 */
function eventsByKind(trace, { fromS, toS, realtimeAheadS, records, threads }, isRealtime) {
  const ahead = isRealtime ? realtimeAheadS : 0;
  /** @type {Record<string, number>} */
  const found = Object.fromEntries(threads.map(({ name }) => [kindOf(name), 0]));
  const names = new Map(threads.map(({ tid, name }) => [tid, name]));
  for (const [, tid, at] of trace.matchAll(/^\s*(\d+)\s+(\d+\.\d+)/gm)) {
    const name = names.get(Number(tid));
    const time = Number(at) - ahead;
    if (name !== undefined && time >= fromS && time <= toS) found[kindOf(name)] += 1000 / records;
  }
  return found;
}

module.exports = { KINDS, OWN, eventsByKind, figuresOf, kindOf, scaling, thousands, verdict };
