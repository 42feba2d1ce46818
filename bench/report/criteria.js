'use strict';
// Criteria of a chapter or a command. Tables of data give what each demands, and the figures that show it; this file
// evaluates and prints them.

const { markdown } = require('./report');
const { percentile } = require('../stats/latency');

/**
 * @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('../options/chapter').Ratio} Ratio
 *
 * @typedef {Record<string, any>} Round results by the key of the case
 *
 * @typedef {object} Figure
 * @property {string} name with its unit
 * @property {string} [target] such as '≤ 20'
 * @property {number} [digits] default: 1
 * @property {string} [key] of a case: `value` and `samples` get its result; absent = they get the round
 * @property {(result: any) => number | undefined} [value] undefined = not measured in this round
 * @property {(result: any) => number[]} [samples] in place of value: of a round, with `fraction`
 * @property {number} [fraction] of the samples that do not exceed the figure; default: 0.5
 *
 * @typedef {object} Criterion
 * @property {number} number @property {string} what @property {string} limit
 * @property {string} part of the chapter that measures it, for --systems; tests = tests prove it
 * @property {Figure[]} figures
 *
 * @typedef {object} Found over all rounds, and the range of the rounds
 * @property {number} median with samples: their percentile @property {number} low @property {number} high
 * @property {number} count of the samples; 0 = one value a round
 */

/**
 * @template {Criterion} T
 * @typedef {object} CriteriaSet
 * @property {string} chapter its name @property {T[]} criteria
 * @property {[title: string, text: (criterion: T) => string][]} columns after the limit
 * @property {(number: number) => string} testCommand of a criterion that tests prove; '' = no test
 */

/** @param {Outcome[]} outcomes @returns {Round[]} those with a result */
function roundsOf(outcomes) {
  /** @type {Round[]} */
  const rounds = [];
  for (const { key, round, result } of outcomes) {
    if (!result || result.isLeftOut) continue;
    (rounds[round] ??= {})[key] = result;
  }
  return rounds.filter(Boolean);
}

/** @param {Figure} figure @param {Round[]} rounds @returns {any[]} the arguments of its functions */
const inputsOf = ({ key }, rounds) =>
  key === undefined ? rounds : rounds.filter((round) => key in round).map((round) => round[key]);

/** @param {Figure} figure @param {Round[]} rounds @returns {Found | null} null: no value is known */
function evaluate(figure, rounds) {
  const { value, samples, fraction = 0.5 } = figure;
  const inputs = inputsOf(figure, rounds);
  const values = inputs.map((input) => (samples ? percentile(samples(input), fraction) : value?.(input)));
  const known = /** @type {number[]} */ (values.filter((each) => Number.isFinite(each)));
  if (known.length === 0) return null;
  const all = samples ? inputs.flatMap(samples) : known;
  return {
    median: /** @type {number} */ (percentile(all, samples ? fraction : 0.5)),
    low: Math.min(...known),
    high: Math.max(...known),
    count: samples ? all.length : 0
  };
}

/** @param {Figure} figure @param {Round[]} rounds @returns {string[]} empty: its case was not run */
function cell(figure, rounds) {
  const { name, key, digits = 1 } = figure;
  const found = evaluate(figure, rounds);
  if (!found) return key !== undefined && inputsOf(figure, rounds).length > 0 ? [`${name}: –`] : [];
  const [median, low, high] = [found.median, found.low, found.high].map((each) => each.toFixed(digits));
  return [`${name}: ${low === high ? median : `${median} [${low}..${high}]`}`];
}

/**
 * Returns the command that measures a criterion.
 * @template {Criterion} T
 * @param {CriteriaSet<T>} set @param {T} criterion @returns {string}
 */
function commandOf({ chapter, testCommand }, { number, part }) {
  if (part !== 'tests') return `seganet-bench --only ${chapter} --systems ${part}`;
  return testCommand(number) || 'no such test in this version';
}

/** @template {Criterion} T @param {CriteriaSet<T>} set @param {Round[]} rounds @returns {string} Markdown */
function criteriaTable(set, rounds) {
  const rows = set.criteria.map((criterion) => {
    const { number, what, limit, figures } = criterion;
    const measured = figures.flatMap((figure) => cell(figure, rounds)).join('<br>') || 'not run';
    // A bar in a cell would end it.
    const command = commandOf(set, criterion).replaceAll('|', '\\|');
    return [
      number,
      what,
      limit,
      ...set.columns.map(([, text]) => text(criterion)),
      measured,
      `\`${command}\``
    ];
  });
  const titles = set.columns.map(([title]) => title);
  return markdown(['#', 'criterion', 'limit', ...titles, 'measured', 'command'], rows);
}

/** @param {Criterion[]} criteria @param {Round[]} rounds @returns {Ratio[]} the figures with a target */
const criteriaRatios = (criteria, rounds) =>
  criteria.flatMap(({ number, figures }) =>
    figures.flatMap((figure) => {
      const found = figure.target ? evaluate(figure, rounds) : null;
      if (!found) return [];
      const { count, ...values } = found;
      const name = `${number}: ${figure.name}${count ? ` (${count})` : ''}`;
      return [{ name, target: figure.target, ...values }];
    })
  );

/** Returns figures with the key of their case. @param {string} key @param {Figure[]} figures @returns {Figure[]} */
const ofCase = (key, figures) => figures.map((figure) => ({ ...figure, key }));

/**
 * Returns the figures of a criterion that tests prove.
 * @param {number} number @param {'skipped' | 'missing'} other tests that prove nothing, either
 * @returns {Figure[]}
 */
const testFigures = (number, other) =>
  ofCase(`test-${number}`, [
    {
      name: `tests failed or ${other}`,
      target: '≤ 0',
      digits: 0,
      value: (found) => found.failed + found[other]
    },
    { name: 'passed', digits: 0, value: ({ passed }) => passed },
    { name: 'skipped', digits: 0, value: ({ skipped }) => skipped }
  ]);

/** @param {string | undefined} target @param {number} value @returns {boolean | undefined} undefined = no target */
function isMet(target, value) {
  const found = target?.match(/^([≤≥])\s*([\d.]+)/);
  if (!found) return undefined;
  return found[1] === '≤' ? value <= Number(found[2]) : value >= Number(found[2]);
}

module.exports = {
  commandOf,
  criteriaRatios,
  criteriaTable,
  evaluate,
  isMet,
  ofCase,
  roundsOf,
  testFigures
};
