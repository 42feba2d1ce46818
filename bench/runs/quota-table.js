'use strict';
// What the runs under a baseline's quota say: how much came through, how late, and what was felt of the quota.

const { badLines, fixed, markdown, median, spread } = require('../report/report');
const { latencyMs, ratio, resultsOf } = require('./side-by-side');
const { delivered, quotaLoad } = require('./under-quota');

/** @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('./side-by-side').Entry} Entry */

/** Below, it has not come through: the last second of a run may be on its way. */
const THROUGH = 0.97;

/** @param {number} part @param {number} whole @returns {number | undefined} percent */
const percent = (part, whole) => (whole > 0 ? (part / whole) * 100 : undefined);

/** @type {import('./side-by-side').Columns} */
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
  ['periods cut short %', ({ quota }) => percent(quota.throttled, quota.periods), 0],
  ['records/publish', ({ arrived }) => arrived.records / arrived.publishes, 1]
];

/** @param {any} result */
const p99 = (result) => latencyMs(result, 3, 'p99');

/** @param {Outcome[]} outcomes @param {string} load @param {string} base @param {Entry[]} entries @returns {string} Markdown, '' when nothing was measured */
function quotaTable(outcomes, load, base, entries) {
  const under = quotaLoad(load, base);
  const rows = entries.flatMap((entry) => {
    const results = resultsOf(outcomes, under, entry);
    if (results.length === 0) return [];
    const cells = columns.map(([, value, digits]) => spread(results.map(value), digits));
    return [[entry.label, ...cells]];
  });
  if (rows.length === 0) return '';
  return [
    `### ${load}, each with the quota of ${base}`,
    preface(resultsOf(outcomes, under, { name: base, label: '' }), base),
    markdown(['system', ...columns.map(([title]) => title)], rows)
  ].join('\n\n');
}

/** @param {any[]} own the baseline's @param {string} base */
function preface(own, base) {
  if (own.length === 0) return `${base} itself was not measured with it.`;
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
    `Every system has ${fixed(share, 2)} of the ${need} cores that ${base} needs for this load when it never has time to sleep`,
    '(measured with a quarter of what it took without a quota: a busy system takes less for a message, because one wake-up finds several).',
    `The quota is for each ${periods} ms, the shortest period from 10 ms on in which it is the kernel's least of 1 ms: with every system a record`,
    'can wait for the rest of a period, or of several. Generator, cloud and sink are outside.',
    behind
      ? `${base} fell behind: while a system does, its latencies grow with the length of the run (here ${seconds - warmup} s are measured), so the factor of p99 says little more than that; compare what *came through*. At the end the quota is lifted: what waited arrives then, and would have been later otherwise.`
      : `${base} came through in at least one run, so it was not saturated as the paper's was: try a smaller --quota.`
  ].join(' ');
}

/**
 * @param {Outcome[]} outcomes @param {string} load @param {string} base @param {Entry[]} own the gateway's @param {string} [target] of the factor
 * @returns {import('../options/chapter').Ratio[]}
 */
function quotaRatios(outcomes, load, base, own, target) {
  const under = quotaLoad(load, base);
  return own.flatMap(({ name, label }) => {
    const short = `${label.replace('SegaNet, ', '')} / ${base}, ${load}`;
    return [
      ...ratio(
        `p99 better by the factor, quota of ${base}, ${short}`,
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
