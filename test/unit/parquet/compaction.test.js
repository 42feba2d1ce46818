'use strict';

const { FAN_IN, nextTask } = require('../../../nodes/lib/parquet/store/compaction');

const NOW = Date.parse('2026-11-30T12:00:00Z');
const run = (/** @type {number} */ rows, level = 0) => ({
  level,
  files: [{ name: `part-${rows}-00000000.parquet`, rows, bytes: 1, from: 0, to: 0 }]
});
/**
 * @param {Record<string, ReturnType<typeof run>[]>} days
 * @param {[string, number][]} [changed] ms ago
 * @param {[string, number][]} [paused] ms
 */
const next = (days, changed = [], paused = []) => {
  const now = 5000;
  const from = (/** @type {[string, number][]} */ times, /** @type {number} */ sign) =>
    new Map(times.map(([date, ms]) => [date, now + sign * ms]));
  const times = { changedAt: from(changed, -1), pausedUntil: from(paused, 1), now, wall: NOW };
  return nextTask(new Map(Object.entries(days)), times, 60000);
};

test('merges the smallest runs of a day that is over', () => {
  const runs = Array.from({ length: FAN_IN + 2 }, (_, i) => run(100 - i, i % 3));
  expect(next({ '2026-11-29': runs })?.runs.map(({ files }) => files[0].rows)).toEqual([
    91, 92, 93, 94, 95, 96, 97, 98
  ]);
});

test('leaves a day with one run, and a day that goes on', () => {
  expect(
    next({ '2026-11-29': [run(5)], '2026-11-30': [run(1), run(2)], '2026-12-01': [run(1), run(2)] })
  ).toBe(null);
});

test('waits for records that are late until none came for a minute', () => {
  const days = { '2026-11-23': [run(1000, 2), run(1)] };
  expect(next(days, [['2026-11-23', 59999]])).toBe(null);
  expect(next(days, [['2026-11-23', 60000]])?.date).toBe('2026-11-23');
});

test('merges runs of one level while their day goes on', () => {
  const runs = [run(9000, 1), ...Array.from({ length: FAN_IN }, (_, i) => run(i + 1))];
  const task = next({ '2026-11-30': runs });
  expect(task?.runs).toHaveLength(FAN_IN);
  expect(task?.runs.every(({ level }) => level === 0)).toBe(true);
  expect(next({ '2026-11-30': runs.slice(0, FAN_IN) })).toBe(null);
});

test('treats records without a valid date as a day that is over', () => {
  expect(next({ __HIVE_DEFAULT_PARTITION__: [run(1), run(2)] })?.runs).toHaveLength(2);
});

test('leaves a day out whose merge failed, and goes on with the others', () => {
  const days = { '2026-11-23': [run(1), run(2)], '2026-11-24': [run(3), run(4)] };
  expect(next(days, [], [['2026-11-23', 1]])?.date).toBe('2026-11-24');
  expect(next(days, [], [['2026-11-23', 0]])?.date).toBe('2026-11-23');
});
