'use strict';
// Tables of the runs under a baseline's quota: delivered records, latency, and the effect of the quota.

const { badLines, columnTable, fixed, median, resultsOf, spread } = require('../report/report');
const { latencyMs, measured, ratio } = require('./side-by-side');
const { delivered, quotaLoad } = require('./under-quota');

/** @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('./side-by-side').Entry} Entry */

/** A system with a lower fraction has fallen behind. Below 1, because records of the last second may be in flight. */
const THROUGH = 0.97;

/** @param {number} part @param {number} whole @returns {number | undefined} percent */
const percent = (part, whole) => (whole > 0 ? (part / whole) * 100 : undefined);

/** @type {import('../report/report').Columns} */
const columns = [
  ['quota, cores', ({ quota }) => quota.cores, 3],
  ['cores used', ({ cores }) => cores, 3],
  ['came through %', (result) => delivered(result) * 100, 1],
  ['msg/s', (result) => delivered(result) * result.sent.offered, 0],
  ['lost', ({ verdict }) => verdict?.lost, 0],
  ['broken', badLines, 0],
  ['p50 ms', (result) => latencyMs(result, 3, 'p50'), 1],
  ['p99', (result) => latencyMs(result, 3, 'p99'), 1],
  ['max', (result) => latencyMs(result, 3, 'max'), 1],
  ['throttled periods %', ({ quota }) => percent(quota.throttled, quota.periods), 0],
  ['records/publish', ({ arrived }) => arrived.records / arrived.publishes, 1]
];

/** @param {any} result */
const p99 = (result) => latencyMs(result, 3, 'p99');

/**
 * @param {Outcome[]} outcomes @param {string} load @param {string} base @param {Entry[]} entries
 * @returns {string} Markdown, '' without results
 */
function quotaTable(outcomes, load, base, entries) {
  const under = quotaLoad(load, base);
  const table = columnTable(['system'], measured(outcomes, under, entries), columns);
  if (!table) return '';
  return [
    `### ${load}, each system with the quota of ${base}`,
    preface(resultsOf(outcomes, `${under}/${base}`), base),
    table
  ].join('\n\n');
}

/** @param {any[]} own the baseline's @param {string} base */
function preface(own, base) {
  if (own.length === 0) return `${base} itself was not measured with this quota.`;
  const share = median(own.map(({ quota }) => quota.cores / quota.of));
  const need = spread(
    own.map(({ quota }) => quota.of),
    3
  );
  const periods = spread(
    own.map(({ quota }) => quota.periodMs),
    0
  );
  const behind = own.every((result) => delivered(result) < THROUGH);
  const { seconds, warmup } = own[0];
  return [
    `Every system has ${fixed(share, 2)} of the ${need} cores that ${base} needs for this load when it is always busy`,
    '(measured with a quarter of its CPU without a quota: a busy system uses less CPU per message, because one wake-up finds several).',
    `The quota has a period of ${periods} ms, the shortest from 10 ms on in which it reaches the kernel's minimum of 1 ms: in every system a record`,
    'can wait for the rest of a period, or of several. Generator, cloud and sink are outside the quota.',
    behind
      ? `${base} fell behind: the latency of such a system grows with the length of the run (here ${seconds - warmup} s are measured), so the p99 factor shows little else; compare *came through*. The quota ends with the measurement: waiting records arrive then, earlier than they would have under the quota.`
      : `${base} came through in at least one run, so it was not saturated like the paper's: try a smaller --quota.`
  ].join(' ');
}

/**
 * @param {Outcome[]} outcomes @param {string} load @param {string} base @param {Entry[]} own the gateway's
 * @param {string} [target] of the factor
 * @returns {import('../options/chapter').Ratio[]}
 */
function quotaRatios(outcomes, load, base, own, target) {
  const under = quotaLoad(load, base);
  return own.flatMap(({ name, label }) => {
    const short = `${label.replace('SegaNet, ', '')} / ${base}, ${load}`;
    return [
      ...ratio(
        `p99 improvement factor, quota of ${base}, ${short}`,
        outcomes,
        [`${under}/${base}`, `${under}/${name}`],
        p99,
        target
      ),
      ...ratio(
        `came through, quota of ${base}, ${short}`,
        outcomes,
        [`${under}/${name}`, `${under}/${base}`],
        delivered
      )
    ];
  });
}

module.exports = { quotaRatios, quotaTable };
