'use strict';
// The short form of test/system/cluster/run.js, and what its judges find.

const { kafkaTools } = require('../../../bench/harness/kafka/broker');
const { needs } = require('../../../bench/harness/tools');
const { seeded } = require('../../fixtures/random');
const { Arrivals, Stored } = require('./arrivals');
const { runFaults } = require('./scenario');

const { test: withKafka } = needs('mosquitto', 'openssl', ...kafkaTools());

withKafka(
  'a machine that burns or stands still under load loses and reorders nothing, and every copy can be recognized',
  async () => {
    const seed = Date.now() % 2 ** 31;
    const faults = /** @type {const} */ (['burn', 'freeze']);
    const { results, arrivals, stored, backward, unknown, missing } = await runFaults({
      runs: 1,
      rate: 400,
      random: seeded(seed),
      faults
    });
    const [{ lost, acked }] = results;
    expect(acked).toBeGreaterThan(100);
    expect(arrivals.records.size).toBe(stored.keys.size);
    expect({ seed, lost, backward, unknown, missing, arrivals, stored }).toMatchObject({
      seed,
      lost: [],
      backward: { late: 0 },
      unknown: 0,
      missing: 0,
      arrivals: { disorder: 0, clashes: 0, wrongClass: 0, foreign: 0 },
      stored: { clashes: 0, wrongTopic: 0 }
    });
  },
  600000
);

/** @param {number} seq @param {object} [more] */
const line = (seq, more = {}) =>
  JSON.stringify({
    d: 'dev-00001',
    t: 't',
    ts: 1000 + seq,
    s: seq,
    c: 3,
    p: { device: 'dev-00001', k: 0, seq },
    ...more
  });

test('the judge counts a copy once, finds what is lost, out of order, or has changed', () => {
  const arrivals = new Arrivals();
  for (const each of [line(0), line(2), line(2), line(1), line(3, { c: 1 })]) arrivals.add(each, 'a');
  arrivals.add(line(0, { ts: 9, s: 9 }), 'a');
  expect(arrivals).toMatchObject({ copies: 1, disorder: 1, wrongClass: 1, again: 1, foreign: 0 });
  const streams = [{ device: 1, kind: 0, issued: 6, unacked: /** @type {[number, number][]} */ ([[5, 5]]) }];
  expect(arrivals.compare(streams)).toEqual({ acked: 5, lost: ['dev-00001 0 4'] });

  const stored = new Stored();
  const record = (/** @type {number} */ seq, key = `k${seq}`) =>
    /** @type {any} */ ({
      key: Buffer.from('dev-00001'),
      topic: 'seganet.normal',
      headers: { class: '3', ts: String(1000 + seq), seq: String(seq), key }
    });
  for (const each of [record(0), record(0), record(1), record(1, 'other'), record(7)]) stored.add(each);
  stored.add({ ...record(2), topic: 'seganet.bulk' });
  expect(stored).toMatchObject({ twice: 1, clashes: 1, wrongTopic: 1 });
  // In the cloud: 0, 1 and 2 as in Kafka, 3 with another class, and one with another time and number.
  expect(stored.compare(arrivals)).toEqual({ unknown: 2, missing: 1 });
});

test('the judge measures how long the devices of a lost gateway waited for another one', () => {
  jest.useFakeTimers({ now: 10000 });
  const arrivals = new Arrivals();
  const arrive = (/** @type {string} */ gateway, /** @type {number} */ seq, /** @type {number} */ ts) =>
    arrivals.add(line(seq, { ts }), gateway);
  for (const seq of [0, 1]) arrive('a', seq, 10000);
  arrivals.lost('a');
  jest.setSystemTime(12000);
  arrive('a', 2, 10000);
  expect(arrivals.waits).toEqual({ beganMs: 0, drainedMs: 0 });
  jest.setSystemTime(13000);
  arrive('b', 3, 11000);
  jest.setSystemTime(14000);
  arrive('b', 4, 12500);
  jest.setSystemTime(15000);
  arrive('b', 5, 14500);
  // It was not waiting since the loss.
  arrive('b', 6, 13500);
  expect(arrivals.waits).toEqual({ beganMs: 3000, drainedMs: 4000 });
  jest.useRealTimers();
});
