'use strict';

const { metricsText } = require('../../../nodes/lib/metrics');
const { addDirectory } = require('../../../nodes/lib/directory/metrics');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const { directory: view } = require('../../fixtures/gateway/source-figures');

const read = (...views) =>
  parseMetrics(
    metricsText([], undefined, [{ process: (out) => views.forEach((each) => addDirectory(out, each)) }])
  );
const value = (families, name, answer) =>
  families.get(name)?.samples.find(({ labels }) => !answer || labels.answer === answer)?.value;

test('has the figures of a find node', () => {
  const families = read(view);
  expect(value(families, 'seganet_directory_up')).toBe(1);
  expect(value(families, 'seganet_directory_things')).toBe(12);
  expect(value(families, 'seganet_directory_questions_total', 'asked')).toBe(4);
  expect(value(families, 'seganet_directory_questions_total', 'none')).toBe(2);
  expect(value(families, 'seganet_directory_left_out_things')).toBe(3);
  expect(value(families, 'seganet_directory_forgotten_total')).toBe(5);
});

test('is 0 for a directory that cannot be used', () => {
  expect(value(read({ ...view, reason: 'The disk is full.' }), 'seganet_directory_up')).toBe(0);
  const off = read({ id: 'find', name: '', running: false });
  expect(value(off, 'seganet_directory_up')).toBe(0);
  expect(off.has('seganet_directory_things')).toBe(false);
});
