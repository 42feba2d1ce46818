'use strict';
// Paths die one after the other while class 1 and class 3 are sent, with alarms over one path and over two.

const { randomOf } = require('../../harness/random');
const { fixed, markdown, median } = require('../../report/report');
const { steady } = require('../loads');

/** Seconds between two deaths, and for which a path stays dead. */
const EVERY_S = 10;
const DEAD_S = 3;
const WARMUP_S = 4;
const SEED = 7;
/** Above the round trip of these links, which is below 1 ms. */
const MOST_MS = 6;

const settings = [
  { key: 'off', label: 'over one path' },
  { key: 'all-paths', label: 'over two paths' }
];
const ways = /** @type {const} */ (['silent', 'silent-out', 'gateway-link', 'peer-link']);
/** Moderate, so that latency is not that of a full link. */
const bulk = { class: 3, devices: 16, perSecond: 400, payload: 1000 };

/** @param {number} count @returns {import('../run').Event[]} */
function deaths(count) {
  const random = randomOf(SEED);
  return Array.from({ length: count }, (_, i) => {
    const cable = /** @type {1 | 2} */ (1 + random(2));
    const way = ways[random(ways.length)];
    const at = WARMUP_S + i * EVERY_S + random(1000) / 1000;
    /** @type {import('../run').Event[]} */
    const events = [
      { at, what: `p${cable} ${way}`, do: (lab) => lab.cut(way, cable) },
      { at: at + DEAD_S, what: `p${cable} back`, do: (lab) => lab.heal(way, cable) }
    ];
    return events;
  }).flat();
}

/** @type {import('./index').Case['runs']} */
const runs = ({ quick }) => {
  const count = quick ? 2 : 20;
  const seconds = WARMUP_S + count * EVERY_S;
  return settings.map(({ key, label }) => ({
    key,
    label,
    seconds,
    run: async ({ measure }) => {
      const result = await measure({
        seconds,
        warmup: 2,
        traffic: [steady(1), bulk],
        events: deaths(count),
        env: { SEGANET_UPLINK_ALARMS: key }
      });
      return { ...result, count };
    }
  }));
};

/** Returns the bytes that the broker confirmed, of class 1 and of the others. @param {any} result */
function bytesOf({ gateway }) {
  const { sessions, alarms } = gateway.uplinks[0];
  const [first, ...rest] = sessions.map((/** @type {any} */ { bytesAcked }) => bytesAcked);
  return {
    alarms: first + (alarms?.bytesAcked ?? 0),
    others: rest.reduce((/** @type {number} */ sum, /** @type {number} */ each) => sum + each, 0),
    copies: alarms?.sent ?? 0,
    secondFirst: alarms?.secondFirst ?? 0
  };
}

/** @type {import('./index').Case['table']} */
function table(outcomes) {
  const head = [
    'alarms',
    'deaths',
    'class 1 p50 / p99 / max, ms',
    'lost',
    'out of order',
    'copies, and first of them by the second session',
    'bytes of class 1 / others',
    'stall of the harness, ms'
  ];
  const rows = outcomes.map(({ label, result }) => {
    const { p50, p99, max } = result.classes[1];
    const { alarms, others, copies, secondFirst } = bytesOf(result);
    return [
      label,
      result.count,
      [p50, p99, max].map((value) => fixed(value, 1)).join(' / '),
      result.lost,
      result.outOfOrder,
      `${copies}, ${secondFirst}`,
      `${alarms} / ${others}`,
      fixed(result.stall.ms)
    ];
  });
  return markdown(head, rows);
}

/** @type {import('./index').Case['verdicts']} */
function verdicts(outcomes) {
  const of = (/** @type {string} */ key) =>
    outcomes.filter((each) => each.key === key).map((each) => each.result);
  const [one, two] = [of('off'), of('all-paths')];
  if (one.length === 0 || two.length === 0) return [];
  const count = two.reduce((sum, result) => sum + result.count, 0);
  const most = Math.max(...two.map(({ classes }) => classes[1].max));
  const lost = two.reduce((sum, result) => sum + result.lost + result.outOfOrder, 0);
  const ratio = (/** @type {'alarms' | 'others'} */ what) =>
    median(two.map((result) => bytesOf(result)[what])) / median(one.map((result) => bytesOf(result)[what]));
  const line = `alarms over two paths, ${count} deaths`;
  return [
    {
      line: `${line}: class 1 maximum`,
      target: `≤ ${MOST_MS} ms`,
      measured: `${fixed(most, 1)} ms`,
      met: most <= MOST_MS
    },
    { line: `${line}: lost or out of order`, target: '0', measured: `${lost}`, met: lost === 0 },
    {
      line: `${line}: bytes of class 1, of the others, compared with one path`,
      target: '≤ 2 ×, ≤ 1.02 ×',
      measured: `${fixed(ratio('alarms'), 2)} ×, ${fixed(ratio('others'), 3)} ×`,
      met: ratio('alarms') <= 2 && ratio('others') <= 1.02
    }
  ];
}

module.exports = {
  name: 'alarms',
  title: 'Paths die while alarms are sent over one or two of them',
  what: 'class 1 while paths die and return, with alarms over one path and over two',
  runs,
  table,
  verdicts,
  brief: (/** @type {any} */ result) =>
    `class 1 max ${fixed(result.classes[1].max, 1)} ms, ${result.lost} lost, ${bytesOf(result).copies} copies`
};
