'use strict';
// What the live view shows of OCF clouds.

const { StoreStates, cloudsOf } = require('../../../nodes/lib/ocf/live');
const { cloud, kafkaSource, source } = require('../../fixtures/gateway/source-figures');

/** @param {number} failed */
const failing = (failed) => ({
  ...cloud,
  store: { ...cloud.store, write: { ...cloud.store.write, failed } }
});

test('shows a store as failing for ten seconds after calls failed, and as busy while many wait', () => {
  const states = new StoreStates();
  const state = (figures, now) => cloudsOf([source('ocf', figures)], states, now)[0].store.state;
  // What failed before a viewer looked is in the past.
  expect(state(failing(3), 0)).toBe('ready');
  expect(state(failing(4), 1000)).toBe('failing');
  expect(state(failing(4), 10900)).toBe('failing');
  expect(state(failing(4), 11100)).toBe('ready');
  const busy = { ...failing(4), store: { ...failing(4).store, waiting: 100 } };
  expect(state(busy, 12000)).toBe('busy');
});

test('has the mean times of the store, and a closed cloud without figures', () => {
  const [open, closed] = cloudsOf([source('ocf', cloud), source('ocf', null)], new StoreStates(), 0);
  expect(open).toMatchObject({ node: 'ocf-1', isOpen: true, devices: 7, store: { failed: 1, waiting: 1 } });
  expect([open.store.readMs, open.store.writeMs]).toEqual([11.9, 31.25]);
  expect(closed).toEqual({ node: 'ocf-1', name: '', isOpen: false });
  expect(cloudsOf([source('kafka', kafkaSource)], new StoreStates(), 0)).toEqual([]);
});
