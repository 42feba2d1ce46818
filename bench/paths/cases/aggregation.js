'use strict';
// Compares the throughput of two paths with that of each alone: Ben(M) of the paper, (G − Cmax) / (C1 + C2 − Cmax);
// 1 = the full rate of the second path.

const { fixed, markdown, median } = require('../../report/report');
const { saturating, DRAIN_S } = require('../loads');

/** The paper's results on its two testbeds. */
const PAPER_BEN = '0.947 and 1.002';
const TARGET = 0.95;

/** @param {number} g @param {number} c1 @param {number} c2 */
function benefit(g, c1, c2) {
  const best = Math.max(c1, c2);
  return (g - best) / (c1 + c2 - best);
}

const ways = [
  { key: 'tcp1', label: 'p1 alone, TCP', paths: 'p1', mptcp: false },
  { key: 'tcp2', label: 'p2 alone, TCP', paths: 'p2', mptcp: false },
  { key: 'one1', label: 'p1 alone, MPTCP', paths: 'p1', mptcp: true },
  { key: 'one2', label: 'p2 alone, MPTCP', paths: 'p2', mptcp: true },
  { key: 'both', label: 'both, MPTCP', paths: 'p1,p2', mptcp: true }
];

/** Returns the mean Mbit/s of payload after the warm-up. @param {import('../run').PathsResult} result */
function goodputOf({ goodput, warmup }) {
  const measured = goodput.slice(warmup);
  return measured.reduce((sum, each) => sum + each, 0) / measured.length;
}

/** @type {import('./index').Case['runs']} */
const runs = ({ quick }) => {
  const [seconds, warmup] = quick ? [5, 2] : [14, 4];
  return ways.map(({ key, label, paths, mptcp }) => ({
    key,
    label,
    seconds,
    run: ({ measure }) =>
      measure({ paths, mptcp, watch: mptcp, seconds, warmup, traffic: saturating(), drain: DRAIN_S })
  }));
};

/** Returns the figures of each round without a failed run. @param {import('./index').Outcome[]} outcomes */
function figures(outcomes) {
  const rounds = [...new Set(outcomes.map(({ round }) => round))];
  return rounds.flatMap((round) => {
    const own = outcomes.filter((each) => each.round === round);
    const by = Object.fromEntries(own.map(({ key, result }) => [key, goodputOf(result)]));
    if (ways.some(({ key }) => by[key] === undefined)) return [];
    return {
      by,
      toTcp: benefit(by.both, by.tcp1, by.tcp2),
      toOne: benefit(by.both, by.one1, by.one2)
    };
  });
}

/** @type {import('./index').Case['table']} */
function table(outcomes) {
  const head = ['', 'Mbit/s of payload', 'p1 / p2, Mbit/s on the wire', 'lost'];
  const rows = outcomes.map(({ label, result }) => [
    label,
    fixed(goodputOf(result), 2),
    [1, 2].map((i) => fixed(wireOf(result, i), 1)).join(' / '),
    result.lost
  ]);
  return markdown(head, rows);
}

/** @param {import('../run').PathsResult} result @param {number} i of the link */
function wireOf({ bytes, warmup, seconds }, i) {
  const key = /** @type {'p1' | 'p2'} */ (`p${i}`);
  const window = bytes.filter(({ at }) => at >= warmup * 1000 && at <= seconds * 1000);
  const [from, to] = [window[0], window[window.length - 1]];
  return ((to[key].tx - from[key].tx) * 8) / 1000 / (to.at - from.at);
}

/** @type {import('./index').Case['verdicts']} */
function verdicts(outcomes) {
  const all = figures(outcomes);
  if (all.length === 0) return [];
  const [toTcp, toOne] = [median(all.map((each) => each.toTcp)), median(all.map((each) => each.toOne))];
  return [
    {
      line: `aggregation: Ben(M), single paths over TCP (the paper: ${PAPER_BEN})`,
      target: `≥ ${TARGET}`,
      measured: `${fixed(toTcp, 3)}; single paths over MPTCP: ${fixed(toOne, 3)}`,
      met: toTcp >= TARGET
    }
  ];
}

module.exports = {
  name: 'aggregation',
  title: 'Throughput of two paths',
  what: 'goodput of each path alone and of both, and the benefit of the second',
  runs,
  table,
  verdicts,
  brief: (/** @type {any} */ result) => `${fixed(goodputOf(result), 1)} Mbit/s`,
  benefit
};
