'use strict';

const { PartitionQueue } = require('../../../../nodes/lib/kafka/uplink/partition-queue');
const { Topic } = require('../../../../nodes/lib/kafka/uplink/topic');

const missing = () =>
  Object.assign(new Error('no topic'), { apiId: 'UNKNOWN_TOPIC_OR_PARTITION', apiCode: 3 });

/** @param {{ isOfRecord?: boolean }} [options] */
function bench({ isOfRecord = false } = {}) {
  const all = {
    clock: 0,
    tookAt: -1,
    looks: [],
    timers: [],
    buried: [],
    ready: [],
    troubles: [],
    notices: []
  };
  const topic = new Topic('t', false, isOfRecord, {
    look: (_name, _create, done) => all.looks.push(done),
    queueFor: (name, partition) => {
      const parts = { topic: name, partition, maxBytes: 1000, now: () => all.clock, ready: () => {} };
      return new PartitionQueue(/** @type {any} */ (parts));
    },
    keyOf: ({ packet }) => Buffer.from(`device-${packet % 5}`),
    ready: (queue) => all.ready.push(queue),
    bury: (item, _meaning, reason) => all.buried.push([item.packet, reason]),
    onTrouble: (_meaning, reason) => all.troubles.push(reason),
    notice: (_code, sentence) => all.notices.push(sentence),
    tookAt: () => all.tookAt,
    now: () => all.clock,
    delay: (fn) => all.timers.push(fn)
  });
  const add = (/** @type {number} */ packet) =>
    topic.add(/** @type {any} */ ({ batch: {}, packet, bytes: 10 }));
  return { ...all, all, topic, add };
}

test('asks once for the partitions, and keeps the order of a key', () => {
  const { topic, add, looks } = bench();
  for (let i = 0; i < 20; i++) add(i);
  expect(looks).toHaveLength(1);
  looks[0](null, 3);
  expect(topic.queues).toHaveLength(3);
  for (const { items } of topic.queues) {
    const packets = items.map(({ packet }) => packet);
    expect(packets).toEqual([...packets].sort((a, b) => a - b));
  }
  expect(topic.queues.flatMap(({ items }) => items)).toHaveLength(20);
});

test('gives its records to the partitions that are left when one is gone, without a complaint', () => {
  const { topic, add, looks, timers, troubles, notices, buried } = bench();
  for (let i = 0; i < 20; i++) add(i);
  looks[0](null, 3);
  topic.partitionGone();
  // Another queue of it may find the same.
  topic.partitionGone();
  expect([topic.queues, topic.waiting.length, timers.length]).toEqual([[], 20, 1]);
  timers[0]();
  looks[1](null, 2);
  expect(topic.queues).toHaveLength(2);
  expect(topic.queues.flatMap(({ items }) => items)).toHaveLength(20);
  expect([topic.reason, troubles, buried]).toEqual(['', [], []]);
  expect(notices).toEqual([expect.stringMatching(/\(2 instead of 3\)/)]);
});

test('waits for a missing topic indefinitely, with a message', () => {
  const { all, topic, add, looks, timers, buried } = bench();
  add(1);
  for (let i = 0; i < 50; i++) {
    looks.at(-1)(missing(), 0);
    all.clock += 10000;
    timers.at(-1)();
  }
  expect(topic.reason).toMatch(/"t" does not exist/);
  expect(buried).toEqual([]);
  looks.at(-1)(null, 1);
  expect(topic.reason).toBe('');
  expect(topic.queues[0].items).toHaveLength(1);
});

test('holds records that it may not write, even where the topic depends on the record', () => {
  const { all, topic, add, looks, timers, buried } = bench({ isOfRecord: true });
  const forbidden = Object.assign(new Error('no'), { apiId: 'TOPIC_AUTHORIZATION_FAILED', apiCode: 29 });
  add(1);
  for (let i = 0; i < 50; i++) {
    looks.at(-1)(forbidden, 0);
    all.clock += 10000;
    timers.at(-1)();
  }
  expect(buried).toEqual([]);
  expect(topic.reason).toMatch(/does not allow this gateway to write/);
  looks.at(-1)(null, 1);
  expect(topic.queues[0].items).toHaveLength(1);
});

test('counts the minute from the time at which a topic is allowed', () => {
  const { all, topic, add, looks, timers, buried } = bench({ isOfRecord: true });
  const forbidden = Object.assign(new Error('no'), { apiId: 'TOPIC_AUTHORIZATION_FAILED', apiCode: 29 });
  add(1);
  looks.at(-1)(forbidden, 0);
  all.clock = 3600000;
  timers.at(-1)();
  looks.at(-1)(missing(), 0);
  expect(buried).toEqual([]);
  timers.at(-1)();
  looks.at(-1)(null, 1);
  expect(topic.queues[0].items).toHaveLength(1);
});

test('gives up records of a forbidden name that a device chose, if other topics take records', () => {
  const { all, add, looks, timers, buried } = bench({ isOfRecord: true });
  const forbidden = Object.assign(new Error('no'), { apiId: 'TOPIC_AUTHORIZATION_FAILED', apiCode: 29 });
  add(1);
  looks.at(-1)(forbidden, 0);
  all.tookAt = all.clock = 30000;
  timers.at(-1)();
  looks.at(-1)(forbidden, 0);
  expect(buried).toEqual([]);
  all.clock = 60000;
  timers.at(-1)();
  looks.at(-1)(forbidden, 0);
  expect(buried).toEqual([[1, expect.stringMatching(/took no records for a minute/)]]);
});

test('looks more rarely if the cluster shows the topic, but refuses its records each time', () => {
  const { topic, add, looks, timers } = bench();
  const meaning = /** @type {any} */ ({ kind: 'topic', code: 'TOPIC_AUTHORIZATION_FAILED', detail: 'no' });
  const next = jest.spyOn(topic.backoff, 'next');
  const waits = [];
  add(1);
  for (let i = 0; i < 6; i++) {
    looks.at(-1)(null, 1);
    topic.refused(meaning);
    waits.push(next.mock.results.at(-1)?.value);
    timers.at(-1)();
  }
  expect(waits.at(-1)).toBeGreaterThan(2000);
  topic.took();
  looks.at(-1)(null, 1);
  topic.refused(meaning);
  expect(next.mock.results.at(-1)?.value).toBeLessThanOrEqual(500);
});

test('gives records up after a minute where the topic depends on the record', () => {
  const { all, topic, add, looks, timers, buried } = bench({ isOfRecord: true });
  add(1);
  looks[0](missing(), 0);
  expect(buried).toEqual([]);
  all.clock = 60000;
  timers[0]();
  looks[1](missing(), 0);
  expect(buried).toEqual([[1, expect.stringMatching(/took no records for a minute/)]]);
  // The next records are given up at once.
  add(2);
  looks[2](missing(), 0);
  expect(buried).toHaveLength(2);
  expect(topic.reason).toBe('');
});

describe('a partition that its broker does not know', () => {
  const unknown = /** @type {any} */ ({ kind: 'topic', code: 'UNKNOWN_TOPIC_OR_PARTITION', number: 3 });

  test('makes the topic refresh at once, which finds and reports fewer partitions', () => {
    const { topic, add, looks, timers, troubles, notices } = bench();
    for (let i = 0; i < 20; i++) add(i);
    looks[0](null, 3);
    topic.refused(unknown);
    expect([topic.reason, topic.waiting.length, looks.length, timers]).toEqual(['', 20, 2, []]);
    looks[1](null, 2);
    expect(topic.queues.flatMap(({ items }) => items)).toHaveLength(20);
    expect([topic.reason, troubles]).toEqual(['', []]);
    expect(notices).toEqual([
      'The topic "t" was created again with fewer partitions (2 instead of 3). Its records go to these.'
    ]);
  });

  test('makes the topic look at once, which finds that it does not exist', () => {
    const { topic, add, looks, notices } = bench();
    add(1);
    looks[0](null, 3);
    topic.refused(unknown);
    expect(topic.reason).toBe('');
    looks[1](missing(), 0);
    expect(topic.reason).toMatch(/"t" does not exist/);
    expect(notices).toEqual([]);
  });

  test('makes the topic wait before it looks again, if the cluster lists the partition', () => {
    const { topic, add, looks, timers } = bench();
    add(1);
    looks[0](null, 3);
    topic.refused(unknown);
    looks[1](null, 3);
    topic.refused(unknown);
    expect([looks.length, timers.length]).toEqual([2, 1]);
    expect(topic.reason).toMatch(
      /A broker does not know a partition of the topic "t" that the cluster lists/
    );
    timers[0]();
    looks[2](null, 3);
    expect(topic.reason).toBe('');
    topic.took();
    topic.refused(unknown);
    expect([looks.length, timers.length]).toEqual([4, 1]);
  });
});

test('takes the records of all partitions back when one refuses the topic', () => {
  const { topic, add, looks } = bench();
  for (let i = 0; i < 10; i++) add(i);
  looks[0](null, 2);
  topic.refused({ kind: 'topic', code: 'UNKNOWN_TOPIC_OR_PARTITION', number: 3, detail: '' });
  expect(topic.waiting).toHaveLength(10);
  expect(topic.queues).toEqual([]);
});

test('ignores the answer to a look of an earlier session', () => {
  const { topic, add, looks } = bench();
  add(1);
  topic.resume();
  expect(looks).toHaveLength(2);
  looks[0](missing(), 0);
  expect(topic.reason).toBe('');
  looks[1](null, 1);
  expect(topic.queues).toHaveLength(1);
});
