'use strict';

const { metricsText } = require('../../../nodes/lib/metrics');
const { addSeries } = require('../../../nodes/lib/series/metrics');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const { series: view } = require('../../fixtures/gateway/source-figures');

const read = (...views) =>
  parseMetrics(
    metricsText([], undefined, [{ process: (out) => views.forEach((each) => addSeries(out, each)) }])
  );
const value = (families, name, reason) =>
  families.get(name)?.samples.find(({ labels }) => !reason || labels.reason === reason)?.value;

test('has the figures of a series node', () => {
  const families = read(view);
  expect(value(families, 'seganet_series_up')).toBe(1);
  expect(value(families, 'seganet_series_points_total')).toBe(9);
  expect(value(families, 'seganet_series_points_refused_total', 'series')).toBe(5);
  expect(value(families, 'seganet_series_database_bytes')).toBe(4096);
});

test('is 0 for a node that does not store', () => {
  expect(value(read({ ...view, reason: 'The disk is full.' }), 'seganet_series_up')).toBe(0);
  const off = read({ id: 'kept', name: '', running: false });
  expect(value(off, 'seganet_series_up')).toBe(0);
  expect(off.has('seganet_series_points_total')).toBe(false);
});
