'use strict';
// What the live view shows of OCF clouds and Kafka.

const {
  StoreStates,
  cloudsOf,
  kafkaSourcesOf,
  kafkaUplinksOf
} = require('../../../nodes/lib/live/protocols');
const { cloud, kafkaSource, producer, source } = require('../../fixtures/gateway/source-figures');

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

test('joins a producer with the state of its session', () => {
  const session = { group: 2, state: 'stalled', reason: 'Waits.', oldestMs: 4000, classes: [2, 3] };
  const uplinks = [
    { broker: 'b', name: 'mqtt' },
    {
      broker: 'c',
      name: 'plant',
      window: 2000,
      brokers: ['k:9092'],
      producers: [producer],
      sessions: [session]
    }
  ];
  expect(kafkaUplinksOf(/** @type {any} */ (uplinks))).toEqual([
    {
      ...{ broker: 'c', name: 'plant', window: 2000, brokers: ['k:9092'] },
      producers: [{ ...producer, state: 'stalled', reason: 'Waits.', oldestMs: 4000, classes: [2, 3] }]
    }
  ]);
});

test('has the lag of each topic of a source, null while it is unknown', () => {
  const topics = ['in', 'new'];
  const [known] = kafkaSourcesOf([source('kafka', { ...kafkaSource, topics })]);
  expect(known).toMatchObject({ partitions: 4, unsafe: 3, waits: false, state: 'refused' });
  expect(known.topics).toEqual([
    { topic: 'in', lag: 17 },
    { topic: 'new', lag: null }
  ]);
  const [early] = kafkaSourcesOf([source('kafka', { ...kafkaSource, consumer: null })]);
  expect(early).toMatchObject({ partitions: null, unsafe: null });
  const many = Array.from({ length: 80 }, () => source('kafka', kafkaSource));
  expect(kafkaSourcesOf(many).length).toBe(50);
});
