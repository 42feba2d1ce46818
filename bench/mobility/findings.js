'use strict';
// What a gateway delivered on its way: tables, verdicts, CSV and plots.

const { lines } = require('../report/plot');
const { fixed, markdown, spread } = require('../report/report');
const { connectsInAll } = require('../paths/judge');
const { STEP_MS, summaryOf } = require('./walk');
const { contenders } = require('./contenders');

/** @typedef {import('./walk').Step} Step @typedef {import('./contenders').Contender} Contender */
/**
 * @typedef {{ scenario: string, name: string, round: number, seed: number, steps: Step[], result?: any, error?: string }} Outcome
 */

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** @param {Outcome} outcome @returns {number} Mbit/s of payload without the warm-up */
const rate = ({ result: { goodput, warmup } }) => mean(goodput.slice(Math.ceil(warmup)));

/** @param {Outcome} outcome @returns {number} */
const newSessions = ({ result }) => Math.max(0, connectsInAll(result) - 1);

/** @type {[title: string, value: (outcome: Outcome) => number | undefined, digits: number][]} */
const columns = [
  ['Mbit/s', rate, 1],
  ['of the better link at each time %', (each) => (100 * rate(each)) / summaryOf(each.steps).best, 0],
  ['seconds without arrivals', ({ result }) => result.zeroSeconds.length, 0],
  ['longest gap s: class 1', ({ result }) => result.gapMs[1] / 1000, 2],
  ['class 3', ({ result }) => result.gapMs[3] / 1000, 2],
  ['p99 s: class 1', ({ result }) => result.classes[1].p99 / 1000, 3],
  ['class 3', ({ result }) => result.classes[3].p99 / 1000, 1],
  ['sessions lost', newSessions, 0],
  ['records lost', ({ result }) => result.lost, 0],
  ['twice', ({ result }) => result.duplicated, 0]
];

/** @param {Outcome[]} outcomes @param {string} scenario @returns {{ contender: Contender, own: Outcome[] }[]} */
const groupsOf = (outcomes, scenario) =>
  contenders.flatMap((contender) => {
    const own = outcomes.filter(
      (each) => each.scenario === scenario && each.name === contender.name && each.result
    );
    return own.length > 0 ? [{ contender, own }] : [];
  });

/** @param {Outcome[]} outcomes @param {string} scenario */
function table(outcomes, scenario) {
  const rows = groupsOf(outcomes, scenario).map(({ contender, own }) => [
    contender.title,
    ...columns.map(([, value, digits]) => spread(own.map(value), digits))
  ]);
  return markdown(['', ...columns.map(([title]) => title)], rows);
}

/** Describes the ways. @param {Outcome[]} outcomes @param {string} scenario */
function waysOf(outcomes, scenario) {
  const bySeed = new Map(
    outcomes.filter((each) => each.scenario === scenario).map(({ seed, steps }) => [seed, steps])
  );
  const rows = [...bySeed].map(([seed, steps]) => {
    const { dead, none, best, both, roams } = summaryOf(steps);
    return [
      seed,
      fixed(dead[0], 1),
      fixed(dead[1], 1),
      fixed(none, 1),
      fixed(best, 1),
      fixed(both, 1),
      roams
    ];
  });
  const head = [
    'seed',
    'first link without signal s',
    'second link s',
    'both s',
    'better link Mbit/s',
    'both together Mbit/s',
    'hand-overs'
  ];
  return markdown(head, rows);
}

/**
 * What must hold: two links under the watch lose nothing, keep their sessions, and deliver in each second, and in
 * backup mode at least as much as the better of the single links.
 * @param {Outcome[]} outcomes @param {string} scenario
 * @returns {import('../paths/cases').Verdict[]}
 */
function verdicts(outcomes, scenario) {
  const groups = groupsOf(outcomes, scenario);
  const singles = groups.filter(({ contender }) => contender.isSingle);
  const watched = groups.filter(({ contender }) => !contender.isSingle && contender.plan.watch !== 'apply');
  const best = Math.max(...singles.map(({ own }) => mean(own.map(rate))));
  return watched.flatMap(({ contender, own }) => {
    const most = (/** @type {(outcome: Outcome) => number} */ of) => Math.max(...own.map(of));
    const lost = most(({ result }) => result.lost);
    const zero = most(({ result }) => result.zeroSeconds.length);
    const mbit = mean(own.map(rate));
    const kept = {
      line: `${scenario}, ${contender.title}: records lost, new sessions, seconds without arrivals`,
      target: '0, 0, 0',
      measured: `${lost}, ${most(newSessions)}, ${zero}`,
      met: lost + most(newSessions) + zero === 0
    };
    if (singles.length < 2) return [kept];
    return [
      kept,
      {
        line: `${scenario}, ${contender.title}: Mbit/s, and the better single link`,
        target: `≥ ${fixed(best, 1)}`,
        measured: fixed(mbit, 1),
        met: mbit >= best
      }
    ];
  });
}

/** Returns the mean capacity of a link in each second. @param {Step[]} steps @param {0 | 1} link @returns {number[]} */
function capacity(steps, link) {
  const each = 1000 / STEP_MS;
  return Array.from({ length: Math.floor(steps.length / each) }, (_, i) =>
    mean(steps.slice(i * each, (i + 1) * each).map(({ links }) => links[link].mbit))
  );
}

/** The series of one round. @param {Outcome[]} outcomes of one scenario and round */
function seriesOf(outcomes) {
  const [{ steps }] = outcomes;
  return [
    { name: 'first link can', values: capacity(steps, 0) },
    { name: 'second link can', values: capacity(steps, 1) },
    ...groupsOf(outcomes, outcomes[0].scenario).map(({ contender, own }) => ({
      name: contender.title,
      values: /** @type {number[]} */ (own[0].result.goodput)
    }))
  ];
}

/** @param {Outcome[]} outcomes of one scenario and round @returns {string} Mbit/s by second */
function csv(outcomes) {
  const series = seriesOf(outcomes);
  const seconds = Math.max(...series.map(({ values }) => values.length));
  const rows = Array.from({ length: seconds }, (_, i) =>
    [i, ...series.map(({ values }) => (values[i] === undefined ? '' : values[i].toFixed(2)))].join(',')
  );
  return `${[['second', ...series.map(({ name }) => name.replaceAll(',', ''))].join(','), ...rows].join('\n')}\n`;
}

/** @param {Outcome[]} outcomes of one scenario and round @returns {string} SVG */
function plot(outcomes) {
  const [{ scenario, seed }] = outcomes;
  return lines(
    seriesOf(outcomes).map(({ name, values }) => ({
      name,
      points: values.map((value, i) => /** @type {[number, number]} */ ([i + 0.5, value]))
    })),
    { title: `${scenario}, seed ${seed}`, xLabel: 'seconds on the way', yLabel: 'Mbit/s of payload' }
  );
}

module.exports = { csv, plot, rate, table, verdicts, waysOf };
