'use strict';
// What the live view shows of Kafka.

const { kafkaSourcesOf, kafkaUplinksOf } = require('../../../nodes/lib/kafka/live');
const { kafkaSource, producer, source } = require('../../fixtures/gateway/source-figures');

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
      broker: 'c',
      name: 'plant',
      window: 2000,
      brokers: ['k:9092'],
      producers: [
        { ...producer, state: 'stalled', reason: 'Waits.', short: '', oldestMs: 4000, classes: [2, 3] }
      ]
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
