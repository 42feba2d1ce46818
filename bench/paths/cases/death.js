'use strict';
// Each path dies in three ways and returns. Both are active and full: bulk saturates them, and class 1 sends a record
// every 20 ms.

const { fixed, markdown } = require('../../report/report');
const { deaths, deathLabel, measureDeath, rateBetween } = require('../deaths');
const { backAfter, connectsInAll, gapOf, worst } = require('../judge');

/** @type {import('./index').Case['runs']} */
const runs = (options) =>
  deaths(options, [1, 2]).map((death) => ({
    key: `${death.way}-${death.cable}`,
    label: deathLabel(death),
    seconds: death.seconds,
    run: async ({ measure }) => ({ death, ...(await measureDeath(measure, death, 'p1,p2')) })
  }));

/** @type {import('./index').Case['table']} */
function table(outcomes) {
  const head = [
    'dies',
    'longest gap, class 1 / 3, ms',
    'seconds without arrivals',
    'lost',
    'duplicates',
    'CONNECTs of a session',
    'Mbit/s before / while dead / after',
    'both carry again after, ms',
    'stall of the harness, ms'
  ];
  const rows = outcomes.map(({ label, result }) => {
    const { gapMs, zeroSeconds, lost, duplicated, death } = result;
    const { diesAt, backAt, seconds, warmup } = death;
    const rates = [
      [warmup, diesAt],
      [diesAt + 2, backAt],
      [backAt + 2, seconds]
    ].map(([from, to]) => fixed(rateBetween(result, from, to), 0));
    return [
      label,
      `${fixed(gapMs[1])} / ${fixed(gapMs[3])}`,
      zeroSeconds.length,
      lost,
      duplicated,
      connectsInAll(result),
      rates.join(' / '),
      fixed(backAfter(result)),
      fixed(result.stall.ms)
    ];
  });
  return markdown(head, rows);
}

/** @type {import('./index').Case['verdicts']} */
function verdicts(outcomes) {
  const results = outcomes.map(({ result }) => result);
  const gap = worst(results.map(gapOf));
  const back = worst(results.map(backAfter));
  const connects = worst(results.map(connectsInAll));
  const zero = worst(results.map(({ zeroSeconds }) => zeroSeconds.length));
  const lost = results.reduce((sum, each) => sum + each.lost, 0);
  const of = `${results.length} deaths of an active path`;
  return [
    { line: `${of}: seconds without delivery`, target: '0', measured: `${zero}`, met: zero === 0 },
    { line: `${of}: records lost`, target: '0', measured: `${lost}`, met: lost === 0 },
    { line: `${of}: CONNECTs of each session`, target: '1', measured: `${connects}`, met: connects === 1 },
    {
      line: `${of}: both carry again after`,
      target: '≤ 2 s',
      measured: Number.isFinite(back) ? `${fixed(back / 1000, 2)} s` : 'not within the run',
      met: back <= 2000
    },
    {
      line: `${of}: longest gap of a class`,
      target: '≤ 0.5 s',
      measured: `${fixed(gap / 1000, 2)} s`,
      met: gap <= 500
    }
  ];
}

module.exports = {
  name: 'death',
  title: 'A path dies and returns, both active and full',
  what: 'each path dies in three ways and returns, under a load that saturates both',
  runs,
  table,
  verdicts,
  brief: (/** @type {any} */ result) =>
    `longest gap ${fixed(gapOf(result))} ms, both again after ${fixed(backAfter(result))} ms, ${result.lost} lost`
};
