'use strict';
// Chapters that consist of parts.

const { onePart, partsChapter, testsPart } = require('../../../bench/options/parts');

const plan = /** @type {any} */ ({ systems: [], tests: false });
const part = (/** @type {string} */ key, /** @type {object} */ how = {}, isLong = false) =>
  onePart(key, () => ({ label: key, seconds: 1, isLong, run: async () => key }), how);
const parts = {
  a: part('a'),
  b: part('b', { lacking: () => 'It needs b.' }),
  long: part('long', {}, true),
  extra: part('extra', { isExtra: true }),
  tests: testsPart({ numbers: () => [7], seconds: 1, run: async (number) => number })
};
const chapter = partsChapter(parts, { groups: { both: ['a', 'extra'] } });

/** @param {object} more */
const keys = (more) => chapter.cases({ ...plan, ...more }).map(({ key }) => key);

test('runs the parts that are chosen, and extra ones and tests only if they are named', () => {
  expect(keys({})).toEqual(['a', 'long']);
  expect(keys({ systems: ['extra'] })).toEqual(['extra']);
  expect(keys({ systems: ['both'] })).toEqual(['a', 'extra']);
  expect(keys({ systems: ['a'], tests: true })).toEqual(['a', 'test-7']);
});

test('names what a chosen part lacks', () => {
  expect(chapter.lacking(plan)).toEqual([{ label: 'b', why: 'It needs b.' }]);
  expect(chapter.lacking({ ...plan, systems: ['a'] })).toEqual([]);
  const none = partsChapter(parts, { lacking: () => 'It needs all.' });
  expect(none.cases(plan)).toEqual([]);
  expect(none.lacking({ ...plan, systems: ['a', 'b'] }).map(({ why }) => why)).toEqual([
    'It needs all.',
    'It needs all.'
  ]);
});

test('leaves a long part out after the first round', async () => {
  const [a, long] = chapter.cases(plan);
  const context = (/** @type {number} */ round) => /** @type {any} */ ({ round });
  expect(await long.run(context(0))).toBe('long');
  expect(await long.run(context(1))).toEqual({ isLeftOut: true });
  expect(await a.run(context(1))).toBe('a');
});
