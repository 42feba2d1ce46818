'use strict';

const { metricsText } = require('../../../nodes/lib/metrics');
const { documentedMetrics } = require('../../fixtures/gateway/metrics-page');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');

const COUNTERS = {
  ...{ points: 9, outOfOrder: 1, doubled: 2, old: 3, future: 4, noSeries: 5, left: 6, damagedBlocks: 0 },
  ...{ commits: 7, blocks: 8, setAside: 0, hours: 1, expiredHours: 0, expiredMeans: 0, refused: 2 },
  ...{ texts: 1, noText: 0, removed: 0 }
};
const sizes = { series: 3, waitingPoints: 1, openPoints: 2, bytes: 4096, textBytes: 10 };
const view = { id: 'kept', name: 'values', running: true, reason: '', counters: COUNTERS, ...sizes };
const read = (...views) => parseMetrics(metricsText([], undefined, views));
const value = (families, name, reason) =>
  families.get(name)?.samples.find(({ labels }) => !reason || labels.reason === reason)?.value;

test('has the figures of a series node', () => {
  const families = read(view);
  expect(value(families, 'seganet_series_up')).toBe(1);
  expect(value(families, 'seganet_series_points_total')).toBe(9);
  expect(value(families, 'seganet_series_points_refused_total', 'series')).toBe(5);
  expect(value(families, 'seganet_series_database_bytes')).toBe(4096);
});

test('has every metric of the page, with its type and labels', () => {
  const families = read(view);
  const ours = [...documentedMetrics()].filter(([name]) => name.startsWith('seganet_series_'));
  const found = [...families].filter(([name]) => name.startsWith('seganet_series_'));
  expect(found.map(([name]) => name).sort()).toEqual(ours.map(([name]) => name).sort());
  for (const [name, { type, labels }] of ours) {
    const family = families.get(name);
    expect([name, family.type, Object.keys(family.samples[0].labels).sort()]).toEqual([name, type, labels]);
  }
});

test('is 0 for a node that does not store', () => {
  expect(value(read({ ...view, reason: 'The disk is full.' }), 'seganet_series_up')).toBe(0);
  const off = read({ id: 'kept', name: '', running: false });
  expect(value(off, 'seganet_series_up')).toBe(0);
  expect(off.has('seganet_series_points_total')).toBe(false);
});
