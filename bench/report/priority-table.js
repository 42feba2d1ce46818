'use strict';
// The table of bench/questions/priority.js: one row per variant, with all its rounds pooled.

const { arrivalsOf, latencyOf } = require('../stats/by-class');
const { fixed, markdown, spread } = require('./report');

/** @typedef {import('../runs/link-run').LinkResult & {variant: string, qdisc: string, round: number}} Run */

/** @param {Run[]} runs @param {(run: Run) => number} value */
const sum = (runs, value) => runs.reduce((all, run) => all + value(run), 0);

/** @param {Run} run @param {'late' | 'unsent'} field */
const ofLoads = ({ loads }, field) => loads.reduce((all, { sent }) => all + sent[field], 0);

/** @param {Run} run */
const lost = ({ loads }) => loads.reduce((all, { verdict }) => all + (verdict?.lost ?? 0), 0);

/** Returns the throughput of the link in the window: bits divided by milliseconds and 1000. @param {Run} run */
const linkMbit = ({ bands, fromMs, toMs }) => ((bands.all?.bytes ?? NaN) * 8) / 1000 / (toMs - fromMs);

/** @param {Run} run */
const goodput = ({ samples, fromMs, toMs }) => arrivalsOf(samples, undefined, fromMs, toMs).bytesPerS / 1000;

/** @param {Run[]} runs @param {string[]} names of bands */
const megabytes = (runs, names) =>
  names
    .map((name) =>
      spread(
        runs.map(({ bands }) => bands[name] && bands[name].bytes / 1e6),
        2
      )
    )
    .join(' / ');

/** @param {ReturnType<typeof latencyOf>} latency @param {number} digits */
const three = ({ p50, p99, max }, digits) => [p50, p99, max].map((value) => fixed(value, digits)).join(' / ');

/**
 * @param {string} qdisc @param {number} bulk class
 * @returns {[string, (runs: Run[], idle: Run[]) => string | number][]}
 */
const columns = (qdisc, bulk) => [
  ['variant', ([{ variant }]) => variant],
  ['class 1 p50 / p99 / max ms', (runs) => three(latencyOf(runs, 1), 1)],
  [
    'p99 of a round',
    (runs) =>
      spread(
        runs.map((run) => latencyOf([run], 1).p99),
        1
      )
  ],
  [
    'p99 − idle p99 ms',
    (runs, idle) => fixed((latencyOf(runs, 1).p99 ?? NaN) - (latencyOf(idle, 1).p99 ?? NaN), 1)
  ],
  ['records', (runs) => latencyOf(runs, 1).count],
  [`class ${bulk} p50 / p99 / max ms`, (runs) => three(latencyOf(runs, bulk), 0)],
  ['records', (runs) => latencyOf(runs, bulk).count],
  [
    `p99 ratio ${bulk} : 1`,
    (runs) => fixed((latencyOf(runs, bulk).p99 ?? NaN) / (latencyOf(runs, 1).p99 ?? NaN), 1)
  ],
  ['lost', (runs) => sum(runs, lost)],
  ['dup', (runs) => sum(runs, ({ arrived }) => arrived.duplicates)],
  ['out of order', (runs) => sum(runs, ({ arrived }) => arrived.outOfOrder)],
  ['goodput kB/s', (runs) => spread(runs.map(goodput), 1)],
  ['link Mbit/s', (runs) => spread(runs.map(linkMbit), 2)],
  ['sent with priority 6,7 / 0,4 / others MB', (runs) => megabytes(runs, ['band0', 'band1', 'band2'])],
  ...(qdisc === 'htb'
    ? /** @type {[string, (runs: Run[]) => string][]} */ ([
        ['htb 1:10 / 1:20 / 1:30 MB', (runs) => megabytes(runs, ['1:10', '1:20', '1:30'])]
      ])
    : []),
  ['late sends', (runs) => sum(runs, (run) => ofLoads(run, 'late'))],
  ['never sent', (runs) => sum(runs, (run) => ofLoads(run, 'unsent'))],
  ['clean exit', (runs) => (runs.every(({ cleanEnd }) => cleanEnd) ? 'yes' : 'NO')]
];

/**
 * @param {Run[]} runs of one qdisc @param {string[]} names of the variants, in order
 * @param {string} qdisc @param {number} bulk class
 */
function priorityTable(runs, names, qdisc, bulk) {
  const all = columns(qdisc, bulk);
  const idle = runs.filter(({ variant }) => variant === 'idle');
  const rows = names.map((name) => {
    const own = runs.filter(({ variant }) => variant === name);
    return all.map(([, value]) => value(own, idle));
  });
  const head = all.map(([title]) => title);
  return markdown(head, rows);
}

module.exports = { priorityTable };
