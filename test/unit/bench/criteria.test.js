'use strict';
// Criteria: their figures over the rounds, and their table.

const {
  criteriaRatios,
  criteriaTable,
  evaluate,
  isMet,
  ofCase,
  roundsOf,
  testFigures
} = require('../../../bench/report/criteria');

/** @param {string} key @param {number} round @param {any} result */
const outcome = (key, round, result) => ({ chapter: 'c', key, round, result });

test('evaluates only known values', () => {
  const figure = { name: 'f', value: (/** @type {any} */ { a }) => a };
  expect(evaluate(figure, [{ a: 3 }, {}, { a: NaN }, { a: 1 }, { a: 2 }])).toEqual({
    ...{ median: 2, low: 1, high: 3 },
    count: 0
  });
  expect(evaluate(figure, [])).toBeNull();
  expect(evaluate(figure, [{}, { a: NaN }])).toBeNull();
});

test('takes a percentile of the samples of all rounds, and its range over the rounds', () => {
  const figure = { key: 'k', name: 'f', samples: (/** @type {any} */ { a }) => a, fraction: 0.99 };
  const rounds = [{ k: { a: [1, 2, 3] } }, { other: {} }, { k: { a: [9] } }];
  expect(evaluate(figure, rounds)).toEqual({ median: 9, low: 3, high: 9, count: 4 });
  expect(evaluate(figure, [{ k: { a: [] } }])).toBeNull();
});

test('collects the results of a round, without those that failed or were left out', () => {
  const all = [outcome('a', 0, { n: 1 }), outcome('a', 2, { n: 3 }), outcome('b', 0, { isLeftOut: true })];
  expect(roundsOf([...all, { chapter: 'c', key: 'b', round: 2, error: 'x' }])).toEqual([
    { a: { n: 1 } },
    { a: { n: 3 } }
  ]);
});

test('prints what was measured, what has no value, what was not run, and the commands', () => {
  const value = (/** @type {any} */ { n }) => n;
  const figures = ofCase('a', [
    { name: 'n', target: '≥ 2', digits: 0, value },
    { name: 'm', value: () => undefined }
  ]);
  const criteria = [
    { number: 1, what: 'first', limit: '≥ 2', part: 'a', figures, more: 'x' },
    { number: 2, what: 'second', limit: '0', part: 'tests', figures: testFigures(2, 'skipped'), more: 'y' }
  ];
  const testCommand = (/** @type {number} */ number) => `go test -run '^(A|B)$' ${number}`;
  const columns = [/** @type {[string, (each: any) => string]} */ (['own', ({ more }) => more])];
  const rounds = roundsOf([outcome('a', 0, { n: 3 }), outcome('a', 1, { n: 1 })]);
  expect(criteriaTable({ chapter: 'c', criteria, columns, testCommand }, rounds).split('\n')).toEqual([
    '| # | criterion | limit | own | measured | command |',
    '| --- | --- | --- | --- | --- | --- |',
    '| 1 | first | ≥ 2 | x | n: 1 [1..3]<br>m: – | `seganet-bench --only c --systems a` |',
    "| 2 | second | 0 | y | not run | `go test -run '^(A\\|B)$' 2` |"
  ]);
  expect(criteriaRatios(criteria, rounds)).toEqual([
    { name: '1: n', target: '≥ 2', median: 1, low: 1, high: 3 }
  ]);
});

test('knows which targets are met', () => {
  const met = [isMet('≤ 0.25', 0.25), isMet('≤ 0.25', 0.26), isMet('≥ 10', 10), isMet('≥ 10', 9.9)];
  expect([...met, isMet(undefined, 1)]).toEqual([true, false, true, false, undefined]);
});
