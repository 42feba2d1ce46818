'use strict';

const { PartitionQueue } = require('../../../../nodes/lib/kafka/uplink/partition-queue');
const { seeded } = require('../../../fixtures/random');

const protocol = (/** @type {string} */ apiId, apiCode = 1) =>
  Object.assign(new Error(apiId), { apiId, apiCode });
const network = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** A queue for a broker that the test plays. */
class Bench {
  constructor(options = {}) {
    this.clock = 0;
    /** @type {{ at: number, fn: () => void }[]} */
    this.timers = [];
    /** @type {{ items: any[], done: (error?: unknown) => void }[]} */
    this.requests = [];
    this.acknowledged = [];
    this.unfit = [];
    this.refusals = [];
    this.failures = 0;
    this.untimed = 0;
    this.queue = new PartitionQueue({
      topic: 't',
      partition: 0,
      recordClass: 3,
      maxBytes: 1000,
      now: () => this.clock,
      delay: (fn, ms) => this.timers.push({ at: this.clock + ms, fn }),
      send: (items, _topic, _partition, done) => this.requests.push({ items, done }),
      ready: (queue) => queue.isReady && queue.send(),
      acknowledged: (items) => this.acknowledged.push(...items.map(({ packet }) => packet)),
      refused: (_queue, meaning) => this.refusals.push(meaning.code),
      unfit: (item) => {
        this.unfit.push(item.packet);
        return [];
      },
      untimed: () => this.untimed++,
      failed: () => this.failures++,
      ...options
    });
  }

  /** @param {number} count @param {number} bytes of each */
  add(count, bytes = 100) {
    for (let i = 0; i < count; i++)
      this.queue.add(/** @type {any} */ ({ batch: {}, packet: this.next++, bytes }));
    if (this.queue.isReady) this.queue.send();
  }
  next = 0;

  /** Lets time pass until a timer runs. */
  wait() {
    const [timer] = this.timers.splice(0, 1);
    this.clock = Math.max(this.clock, timer.at);
    timer.fn();
  }
}

test('has one request in flight, and fills the next one up to the limit', () => {
  const bench = new Bench();
  bench.add(25);
  expect(bench.requests).toHaveLength(1);
  expect(bench.requests[0].items).toHaveLength(1000 / 100);
  bench.requests[0].done();
  expect(bench.acknowledged).toEqual([...Array(10).keys()]);
  expect(bench.requests).toHaveLength(2);
});

test('sends a failed request again after a while, with the same records first', () => {
  const bench = new Bench();
  bench.add(3);
  bench.requests[0].done(network());
  bench.add(2);
  expect(bench.requests).toHaveLength(1);
  bench.wait();
  expect(bench.requests[1].items.map(({ packet }) => packet)).toEqual([0, 1, 2, 3, 4]);
  // A late answer of the first request does not count.
  bench.requests[0].done();
  expect(bench.acknowledged).toEqual([]);
});

test('sends a failed request again although the timer runs a little early', () => {
  const bench = new Bench();
  bench.add(1);
  bench.requests[0].done(network());
  const [{ at, fn }] = bench.timers.splice(0);
  bench.clock = at - 0.9;
  fn();
  expect(bench.requests).toHaveLength(2);
});

test('finds the record that is invalid, and gives up only that', () => {
  const bench = new Bench();
  bench.add(9);
  for (let i = 0; i < 40 && bench.acknowledged.length < 8; i++) {
    const request = bench.requests.at(-1);
    const isBad = request?.items.some(({ packet }) => packet === 5);
    request?.done(isBad ? protocol('INVALID_RECORD') : undefined);
  }
  expect(bench.unfit).toEqual([5]);
  expect(bench.acknowledged).toEqual([0, 1, 2, 3, 4, 6, 7, 8]);
});

test('always sends a record that alone exceeds the limit', () => {
  const bench = new Bench();
  bench.add(1, 5000);
  expect(bench.requests[0].items).toHaveLength(1);
  bench.requests[0].done(protocol('MESSAGE_TOO_LARGE', 10));
  expect(bench.unfit).toEqual([0]);
});

test('hands the records back when the topic takes none', () => {
  const bench = new Bench();
  bench.add(4);
  bench.requests[0].done(protocol('UNKNOWN_TOPIC_OR_PARTITION', 3));
  expect(bench.refusals).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
  expect(bench.queue.clear().map(({ packet }) => packet)).toEqual([0, 1, 2, 3]);
});

test('acknowledges every record once and in order, whatever fails', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  for (let round = 0; round < 100; round++) {
    const bench = new Bench();
    const bad = integer(60);
    for (let step = 0; step < 400; step++) {
      if (bench.next < 60 && integer(2) === 0) bench.add(1 + integer(5), 50 + integer(300));
      const open = bench.queue.sent > 0 ? bench.requests.at(-1) : undefined;
      if (!open) {
        if (bench.timers.length > 0) bench.wait();
        continue;
      }
      const kind = integer(6);
      if (kind === 0) open.done(network());
      else if (kind === 1) open.done(protocol('NOT_LEADER_OR_FOLLOWER', 6));
      else if (kind === 2 && !open.items[0].isUntimed) open.done(protocol('INVALID_TIMESTAMP', 32));
      else if (open.items.some(({ packet }) => packet === bad)) open.done(protocol('INVALID_RECORD', 87));
      else open.done();
    }
    const expected = [...Array(bench.next).keys()].filter((packet) => packet !== bad);
    expect([seed, bench.acknowledged]).toEqual([seed, expected]);
  }
});

test('sends again on a new session what was in flight on the old one', () => {
  const bench = new Bench();
  bench.add(2);
  bench.queue.retry();
  expect(bench.requests).toHaveLength(2);
  bench.requests[0].done();
  expect(bench.acknowledged).toEqual([]);
  bench.requests[1].done();
  expect(bench.acknowledged).toEqual([0, 1]);
});

test('sends records whose time is refused without one, in order, and gives up one that is refused again', () => {
  const bench = new Bench();
  bench.add(3);
  bench.requests[0].done(protocol('INVALID_TIMESTAMP', 32));
  expect(bench.requests[1].items.map(({ packet, isUntimed }) => [packet, isUntimed])).toEqual([
    [0, true],
    [1, true],
    [2, true]
  ]);
  bench.requests[1].done();
  bench.add(1);
  expect(bench.requests[2].items[0].isUntimed).toBeUndefined();
  for (const number of [2, 3]) bench.requests[number].done(protocol('INVALID_TIMESTAMP', 32));
  expect([bench.acknowledged, bench.untimed, bench.unfit, bench.failures]).toEqual([[0, 1, 2], 2, [3], 0]);
});
