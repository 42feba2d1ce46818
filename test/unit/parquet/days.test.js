'use strict';

const { isAmong, readDays } = require('../../../nodes/lib/parquet/store/days');

test.each([
  ['2026-11-30', ['2026-11-30']],
  ['2026-11-29..2026-11-30', ['2026-11-29', '2026-11-30']],
  ['2026-11-30..', ['2026-11-30', '2026-12-01']],
  ['..2026-11-29', ['2026-11-28', '2026-11-29']]
])('takes %s as these days, and no rows without a day', (text, expected) => {
  const days = /** @type {import('../../../nodes/lib/parquet/store/days').Days} */ (readDays(text));
  const all = ['2026-11-28', '2026-11-29', '2026-11-30', '2026-12-01', '__HIVE_DEFAULT_PARTITION__'];
  expect(all.filter((date) => isAmong(days, date))).toEqual(expected);
});

test.each([
  '',
  '..',
  '2026-11-31',
  '2026-13-01',
  '30.11.2026',
  '2026-11-30...',
  '2026-11-30..2026-11-29',
  'today',
  '2026-11-30..2026-12-01..'
])('refuses the days "%s"', (text) => expect(readDays(text)).toBeNull());
