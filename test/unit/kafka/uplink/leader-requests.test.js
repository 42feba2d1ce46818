'use strict';

const { LeaderRequests } = require('../../../../nodes/lib/kafka/uplink/leader-requests');
const { Leaders } = require('../../../../nodes/lib/kafka/uplink/leaders');
const { PartitionQueue } = require('../../../../nodes/lib/kafka/uplink/partition-queue');
const { nameOf } = require('../../../../nodes/lib/kafka/uplink/produce-api');
const { seeded } = require('../../../fixtures/random');

const names = {
  NOT_LEADER_OR_FOLLOWER: 6,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  MESSAGE_TOO_LARGE: 10,
  TOPIC_AUTHORIZATION_FAILED: 29
};
const network = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
const codeOf = (/** @type {string} */ name) => names[/** @type {keyof typeof names} */ (name)] ?? 0;

/** A cluster that the test plays: it keeps the requests, and who leads. */
class Bench {
  /** @param {Record<string, number[]>} topics leaders by topic and partition */
  constructor(topics, maxBytes = 1e6) {
    this.topics = topics;
    this.clock = 0;
    /** @type {{ at: number, fn: () => void }[]} */
    this.timers = [];
    /** Requests without an answer. @type {{ broker: number, parts: any[], done: (error: unknown, results?: any) => void }[]} */
    this.requests = [];
    this.looks = 0;
    /** @type {Record<string, number[]>} numbers of records by partition */
    this.acknowledged = {};
    /** @type {string[]} */
    this.events = [];
    const bench = this;
    this.session = {
      isConnected: true,
      leaders: new Leaders(),
      api: {
        pack: (/** @type {number[]} */ messages) => ({
          numbers: messages,
          bytes: Buffer.alloc(this.size * messages.length)
        }),
        errorOf: ({ code }) =>
          Object.assign(new Error('no'), {
            apiCode: code,
            apiId: Object.keys(names).find((name) => codeOf(name) === code)
          })
      },
      /** @param {string} topic @param {boolean} _create @param {(error: unknown, count: number) => void} done */
      look(topic, _create, done) {
        bench.looks++;
        const partitions = bench.topics[topic].map((leader) => ({ leader }));
        this.leaders.learn({ brokers: new Map(), topics: new Map([[topic, { partitions }]]) });
        done(null, partitions.length);
      },
      produce: (broker, parts, done) => this.requests.push({ broker, parts, done })
    };
    this.size = 10;
    this.leaders = new LeaderRequests({ session: /** @type {any} */ (this.session), schedule: () => {} });
    /** @type {Map<string, PartitionQueue>} */
    this.queues = new Map();
    for (const [topic, all] of Object.entries(topics))
      for (let i = 0; i < all.length; i++) this.makeQueue(topic, i, maxBytes);
  }

  /** @param {string} topic @param {number} partition @param {number} maxBytes @param {string} [name] of the queue */
  makeQueue(topic, partition, maxBytes, name = `${topic}/${partition}`) {
    const queue = new PartitionQueue({
      topic,
      partition,
      recordClass: 3,
      maxBytes,
      now: () => this.clock,
      delay: (fn, ms) => this.timers.push({ at: this.clock + ms, fn }),
      send: (items, _topic, _partition, done) => {
        const numbers = items.map(({ packet }) => packet);
        this.leaders.put(/** @type {any} */ (numbers), topic, partition, done);
      },
      ready: (each) => this.leaders.add(each),
      acknowledged: (items) => (this.acknowledged[name] ??= []).push(...items.map(({ packet }) => packet)),
      refused: (each, { code }) => {
        this.events.push(`${name} refused ${code}`);
        each.clear();
      },
      gone: (each) => {
        this.events.push(`${name} gone`);
        each.clear();
      },
      unfit: ({ packet }, { code }) => {
        this.events.push(`${name} unfit ${packet} ${code}`);
        return [];
      },
      failed: ({ kind }) => this.events.push(`${name} ${kind}`)
    });
    this.queues.set(name, queue);
  }

  /** @param {string} name @param {number[]} numbers */
  add(name, ...numbers) {
    const queue = /** @type {PartitionQueue} */ (this.queues.get(name));
    for (const packet of numbers) queue.add(/** @type {any} */ ({ batch: {}, packet, bytes: this.size }));
    this.leaders.add(queue);
  }

  /** What the requests without an answer contain, by broker. */
  shown() {
    return this.requests.map(({ broker, parts }) => [
      broker,
      Object.fromEntries(parts.map(({ topic, partition, batch }) => [`${topic}/${partition}`, batch.numbers]))
    ]);
  }

  /** Answers the first request. @param {Record<string, string>} [errors] by partition */
  answer(errors = {}) {
    const [{ parts, done }] = this.requests.splice(0, 1);
    const results = parts.map(({ topic, partition }) => [
      nameOf(topic, partition),
      { code: codeOf(errors[`${topic}/${partition}`]), detail: null }
    ]);
    done(null, new Map(/** @type {any} */ (results)));
    this.leaders.turn();
  }

  /** Lets time pass until all timers have run. */
  wait() {
    for (const { at, fn } of this.timers.splice(0).sort((a, b) => a.at - b.at)) {
      this.clock = Math.max(this.clock, at);
      fn();
    }
    this.leaders.turn();
  }
}

test('sends one request to each leader, with all partitions that have records', () => {
  const bench = new Bench({ a: [1, 2, 1], b: [2, 1] });
  for (const [i, name] of [...bench.queues.keys()].entries()) bench.add(name, 10 * i, 10 * i + 1);
  bench.leaders.turn();
  expect(bench.shown()).toEqual([
    [1, { 'a/0': [0, 1], 'a/2': [20, 21], 'b/1': [40, 41] }],
    [2, { 'a/1': [10, 11], 'b/0': [30, 31] }]
  ]);
  expect([bench.looks, bench.leaders.requests]).toEqual([2, 2]);
});

test('sends what has arrived meanwhile when a leader has answered, and does not wait for the other leader', () => {
  const bench = new Bench({ a: [1, 1, 2] });
  bench.add('a/0', 1);
  bench.add('a/2', 3);
  bench.leaders.turn();
  bench.add('a/0', 4);
  bench.add('a/1', 2);
  bench.leaders.turn();
  expect(bench.requests).toHaveLength(2);
  bench.answer();
  expect(bench.shown()).toEqual([
    [2, { 'a/2': [3] }],
    [1, { 'a/0': [4], 'a/1': [2] }]
  ]);
});

test('handles the error of each partition of an answer on its own', () => {
  const bench = new Bench({ a: [1, 1, 1], b: [1] });
  for (const name of bench.queues.keys()) bench.add(name, 1, 2);
  bench.leaders.turn();
  bench.topics.a = [2, 1, 1];
  bench.answer({
    'a/0': 'NOT_LEADER_OR_FOLLOWER',
    'a/1': 'MESSAGE_TOO_LARGE',
    'b/0': 'TOPIC_AUTHORIZATION_FAILED'
  });
  expect(bench.acknowledged).toEqual({ 'a/2': [1, 2] });
  expect(bench.events).toEqual(['a/0 busy', 'b/0 refused TOPIC_AUTHORIZATION_FAILED']);
  // The request that was too large is halved at once; the partition that has moved goes to its new leader.
  expect(bench.shown()).toEqual([[1, { 'a/1': [1] }]]);
  bench.wait();
  expect(bench.shown()).toEqual([
    [1, { 'a/1': [1] }],
    [2, { 'a/0': [1, 2] }]
  ]);
  bench.answer({ 'a/1': 'MESSAGE_TOO_LARGE' });
  expect(bench.events.at(-1)).toBe('a/1 unfit 1 MESSAGE_TOO_LARGE');
  bench.answer();
  bench.answer();
  expect(bench.acknowledged).toEqual({ 'a/0': [1, 2], 'a/1': [2], 'a/2': [1, 2] });
});

test('sends the records of all partitions again when a request has no answer', () => {
  const bench = new Bench({ a: [1, 1] });
  bench.add('a/0', 1);
  bench.add('a/1', 2);
  bench.leaders.turn();
  bench.requests.splice(0)[0].done(network());
  expect(bench.events).toEqual(['a/0 connection', 'a/1 connection']);
  bench.add('a/0', 3);
  bench.leaders.turn();
  expect(bench.requests).toEqual([]);
  bench.wait();
  expect(bench.shown()).toEqual([[1, { 'a/0': [1, 3], 'a/1': [2] }]]);
});

test('sends the records of a partition again that an answer does not mention', () => {
  const bench = new Bench({ a: [1, 1] });
  bench.add('a/0', 1);
  bench.add('a/1', 2);
  bench.leaders.turn();
  bench.requests.splice(0)[0].done(null, new Map([[nameOf('a', 0), { code: 0, detail: null }]]));
  expect(bench.acknowledged).toEqual({ 'a/0': [1] });
  bench.wait();
  expect(bench.shown()).toEqual([[1, { 'a/1': [2] }]]);
});

test('waits for a partition without a leader, while the other partitions continue', () => {
  const bench = new Bench({ a: [-1, 1] });
  bench.add('a/0', 1);
  bench.add('a/1', 2);
  bench.leaders.turn();
  expect([bench.shown(), bench.events]).toEqual([[[1, { 'a/1': [2] }]], ['a/0 busy']]);
  bench.topics.a = [3, 1];
  bench.wait();
  expect(bench.shown()[1]).toEqual([3, { 'a/0': [1] }]);
});

test('returns the records of a partition that the topic no longer has, and does not report the topic as missing', () => {
  const bench = new Bench({ a: [0, 1] });
  bench.topics.a = [0];
  bench.add('a/1', 1);
  bench.add('a/0', 2);
  bench.leaders.turn();
  expect(bench.events).toEqual(['a/1 gone']);
  expect(bench.shown()).toEqual([[0, { 'a/0': [2] }]]);
});

test('names a partition once in a request, although two classes have records for it', () => {
  const bench = new Bench({ a: [1, 1] });
  bench.makeQueue('a', 0, 1e6, 'class 5');
  bench.add('a/0', 1);
  bench.add('class 5', 2);
  bench.add('a/1', 3);
  bench.leaders.turn();
  expect(bench.shown()).toEqual([[1, { 'a/0': [1], 'a/1': [3] }]]);
  bench.answer();
  expect(bench.shown()).toEqual([[1, { 'a/0': [2] }]]);
  bench.answer();
  expect(bench.acknowledged).toEqual({ 'a/0': [1], 'a/1': [3], 'class 5': [2] });
});

test('limits the size of a request, and begins the next one with the partitions that have waited', () => {
  const bench = new Bench({ a: [1, 1, 1, 1] });
  bench.size = 600000;
  for (const [i, name] of [...bench.queues.keys()].entries()) bench.add(name, i);
  bench.leaders.turn();
  expect(bench.shown()).toEqual([[1, { 'a/0': [0], 'a/1': [1] }]]);
  bench.add('a/0', 9);
  bench.answer();
  expect(bench.shown()).toEqual([[1, { 'a/2': [2], 'a/3': [3] }]]);
});

test('sends the most urgent class first when not all fit, and lets none wait indefinitely', () => {
  const bench = new Bench({ a: [1, 1, 1, 1] });
  bench.size = 700_000;
  const classes = [4, 4, 2, 3];
  for (const [i, recordClass] of classes.entries()) {
    const queue = /** @type {PartitionQueue} */ (bench.queues.get(`a/${i}`));
    queue.recordClass = recordClass;
    bench.add(`a/${i}`, i);
  }
  bench.leaders.turn();
  const namesOf = () => Object.keys(bench.shown()[0][1]);
  expect(namesOf()).toEqual(['a/2', 'a/3']);
  // Class 2 always has more, but a request that has no room for a queue raises it by one class.
  const order = [];
  for (let i = 0; i < 4; i++) {
    bench.add('a/2', 10 + i);
    bench.add('a/3', 20 + i);
    bench.answer();
    order.push(...namesOf());
  }
  expect(order[0]).toBe('a/2');
  expect(order).toContain('a/0');
  expect(order).toContain('a/1');
});

test('forgets the requests of a former connection', () => {
  const bench = new Bench({ a: [1] });
  bench.add('a/0', 1);
  bench.leaders.turn();
  const [former] = bench.requests.splice(0);
  bench.leaders.reset();
  for (const queue of bench.queues.values()) queue.retry();
  bench.leaders.turn();
  expect(bench.shown()).toEqual([[1, { 'a/0': [1] }]]);
  former.done(null, new Map([[nameOf('a', 0), { code: 0, detail: null }]]));
  bench.leaders.turn();
  expect([bench.acknowledged, bench.requests.length]).toEqual([{}, 1]);
  bench.answer();
  expect(bench.acknowledged).toEqual({ 'a/0': [1] });
});

test('acknowledges each record once and in order, whatever partitions and leaders do', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  for (let round = 0; round < 60; round++) {
    const bench = new Bench({ a: [1, 2, 1, 3], b: [2, 2] }, 100);
    const all = [...bench.queues.keys()];
    const added = Object.fromEntries(all.map((name) => [name, 0]));
    for (let step = 0; step < 300 || bench.requests.length + bench.timers.length > 0; step++) {
      const name = all[integer(all.length)];
      const isLate = step >= 300;
      if (!isLate && integer(2) === 0)
        bench.add(name, ...Array.from({ length: 1 + integer(30) }, () => added[name]++));
      if (!isLate && integer(10) === 0) bench.topics.a[integer(4)] = 1 + integer(3);
      if (bench.requests.length > 0 && integer(3) > 0) {
        const at = integer(bench.requests.length);
        bench.requests.unshift(...bench.requests.splice(at, 1));
        if (!isLate && integer(8) === 0) bench.requests.splice(0, 1)[0].done(network());
        else bench.answer(isLate || integer(4) > 0 ? {} : { [name]: 'NOT_LEADER_OR_FOLLOWER' });
      } else bench.wait();
    }
    const expected = Object.fromEntries(
      all.filter((name) => added[name] > 0).map((name) => [name, [...Array(added[name]).keys()]])
    );
    expect({ seed, ...bench.acknowledged }).toEqual({ seed, ...expected });
  }
});
