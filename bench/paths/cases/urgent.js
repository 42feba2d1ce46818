'use strict';
// Class 1 while bulk of the same gateway fills both paths, compared with class 1 alone.

const { fixed, markdown, median } = require('../../report/report');
const { saturating, steady, DRAIN_S } = require('../loads');

/** The targets of one link (docs/use/priority.md): p99 of class 1 compared with class 3, and with an idle link. */
const PART_OF_BULK = 20;
const OVER_IDLE_MS = 20;

const loads = [
  { key: 'idle', label: 'class 1 alone', bulk: [] },
  { key: 'full', label: 'both paths full of classes 3 and 4', bulk: [3, 4] }
];

/** @type {import('./index').Case['runs']} */
const runs = ({ quick }) => {
  const [seconds, warmup] = quick ? [5, 2] : [20, 4];
  return loads.map(({ key, label, bulk }) => ({
    key,
    label,
    seconds,
    run: ({ measure }) =>
      measure({
        seconds,
        warmup,
        traffic: [steady(1), ...(bulk.length > 0 ? saturating(bulk) : [])],
        drain: DRAIN_S
      })
  }));
};

/** @param {any} result @param {number} cls */
function latency({ classes }, cls) {
  const of = classes[cls];
  return of ? [of.p50, of.p99, of.max].map((value) => fixed(value, 1)).join(' / ') : '–';
}

/** @type {import('./index').Case['table']} */
function table(outcomes) {
  const head = ['', 'class 1 p50 / p99 / max, ms', 'class 3', 'class 4', 'Mbit/s of payload', 'lost'];
  const rows = outcomes.map(({ label, result }) => {
    const { goodput, warmup, lost } = result;
    const measured = goodput.slice(warmup);
    const mean = measured.reduce((/** @type {number} */ sum, /** @type {number} */ each) => sum + each, 0);
    return [label, ...[1, 3, 4].map((cls) => latency(result, cls)), fixed(mean / measured.length, 1), lost];
  });
  return markdown(head, rows);
}

/** @type {import('./index').Case['verdicts']} */
function verdicts(outcomes) {
  const p99 = (/** @type {string} */ key, /** @type {number} */ cls) => {
    const some = outcomes.filter((each) => each.key === key).map(({ result }) => result.classes[cls]?.p99);
    return some.length > 0 ? median(some) : undefined;
  };
  const [idle, full, bulk] = [p99('idle', 1), p99('full', 1), p99('full', 3)];
  if (idle === undefined || full === undefined || bulk === undefined) return [];
  return [
    {
      line: 'urgent: class 1 p99 with both paths full, minus its p99 on idle paths',
      target: `≤ ${OVER_IDLE_MS} ms`,
      measured: `${fixed(full - idle, 1)} ms (${fixed(full, 1)} − ${fixed(idle, 1)})`,
      met: full - idle <= OVER_IDLE_MS
    },
    {
      line: 'urgent: class 1 p99 as a fraction of class 3 p99',
      target: `≤ 1/${PART_OF_BULK}`,
      measured: `1/${fixed(bulk / full)} (${fixed(full, 1)} of ${fixed(bulk)} ms)`,
      met: full <= bulk / PART_OF_BULK
    }
  ];
}

module.exports = {
  name: 'urgent',
  title: 'Class 1 while bulk fills both paths',
  what: 'latency of class 1 with both paths full of bulk, and with idle paths',
  runs,
  table,
  verdicts,
  brief: (/** @type {any} */ result) => `class 1 p50 / p99 / max ${latency(result, 1)} ms`
};
