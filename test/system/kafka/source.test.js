'use strict';
// The kafka source with a real broker: commits after a record is safe, rebalances, and a broker that is killed.

const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { schema, sourceOptions } = require('../../../nodes/lib/kafka/source/kafka-source-options');
const { KafkaSource } = require('../../../nodes/lib/kafka/source/kafka-source');
const { clusterOf } = require('./rig');

const { describe } = needs(...kafkaTools());
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const PARTITIONS = [0, 1, 2, 3];

jest.setTimeout(240000);

/** A source whose engine is the test: it decides when a record is safe. */
class Reader {
  /** @param {string} address @param {object} settings @param {boolean} [isSafe] records are safe at once */
  constructor(address, settings, isSafe = true) {
    /** @type {{ args: any, done: (error?: Error) => void }[]} */
    this.got = [];
    this.warnings = [];
    this.isSafe = isSafe;
    const { values } = parseOptions({ from: 'earliest', sessionTimeoutMs: 6000, ...settings }, schema);
    const cluster = clusterOf({ brokers: address, reconnectMinMs: 100, reconnectMaxMs: 1000 });
    const options = sourceOptions(values, cluster, { gateway: 'gw', nodeId: 'node' });
    this.source = new KafkaSource(options, values, {
      put: (args, done) => {
        this.got.push({ args, done });
        if (this.isSafe) setImmediate(done);
      },
      warn: (sentence) => this.warnings.push(sentence)
    });
    this.source.start();
  }

  get texts() {
    return this.got.map(({ args }) => String(args.payload));
  }

  /** @param {number} count of different records */
  has(count) {
    return eventually(() => new Set(this.texts).size >= count, {
      timeoutMs: 60000,
      what: `${count} records (${this.warnings})`
    });
  }

  connected() {
    return eventually(() => this.source.state === 'connected', { timeoutMs: 60000, what: 'connected' });
  }
}

describe('the kafka source', () => {
  /** @type {KafkaBroker} */
  let broker;
  /** @type {KafkaClient} */
  let client;
  /** @type {Reader[]} */
  const readers = [];
  let number = 0;
  let topic = '';

  beforeAll(async () => {
    broker = await new KafkaBroker().start();
    client = new KafkaClient(broker.address);
  });
  beforeEach(async () => {
    topic = `in-${++number}`;
    await client.createTopics([topic], PARTITIONS.length);
  });
  afterEach(async () => {
    for (const { source } of readers.splice(0)) await source.stop();
  });
  afterAll(async () => {
    await client?.close();
    await broker?.stop();
  });

  /** @param {object} [settings] @param {boolean} [isSafe] */
  function read(settings = {}, isSafe) {
    const reader = new Reader(broker.address, { topics: topic, group: topic, ...settings }, isSafe);
    readers.push(reader);
    return reader;
  }

  /** Writes records FROM to TO - 1 to the partitions in turn. @param {number} from @param {number} to */
  async function produce(from, to) {
    for (const partition of PARTITIONS) {
      const numbers = Array.from({ length: to - from }, (_, i) => from + i).filter(
        (n) => n % 4 === partition
      );
      await client.produce(
        topic,
        partition,
        numbers.map((n) => ({
          key: `dev-${partition}`,
          value: String(n),
          headers: { class: '1', topic: 'a/b', traceparent: TRACE }
        }))
      );
    }
  }

  /** @param {Reader} reader */
  function inOrder(reader) {
    for (const partition of PARTITIONS) {
      const numbers = [...new Set(reader.texts.map(Number))].filter((n) => n % 4 === partition);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }
  }

  test('makes records with the device, class and topic of the Kafka records, in order', async () => {
    await produce(0, 200);
    const reader = read();
    await reader.has(200);
    expect(reader.got[0].args).toMatchObject({
      deviceId: expect.stringMatching(/^dev-\d$/),
      topic: 'a/b',
      cls: 1,
      trace: TRACE
    });
    expect(reader.got[0].args.ts).toBeGreaterThan(1.6e12);
    inOrder(reader);
    await eventually(async () => (await client.committed(topic, topic, PARTITIONS)).every((n) => n === 50), {
      timeoutMs: 30000,
      everyMs: 200,
      what: 'all offsets committed'
    });
  });

  test('commits nothing behind a record that is not safe, and reads that again in the next run', async () => {
    await produce(0, 40);
    const reader = read({}, false);
    await reader.has(40);
    // All but the third record of partition 1.
    for (const { args, done } of reader.got) if (String(args.payload) !== '9') done();
    await eventually(
      async () => (await client.committed(topic, topic, [0, 1, 2, 3])).join() === '10,2,10,10',
      {
        timeoutMs: 30000,
        everyMs: 200,
        what: 'offsets up to the record'
      }
    );
    await reader.source.stop();
    const next = read();
    await next.has(8);
    expect(next.texts.map(Number).sort((a, b) => a - b)).toEqual([9, 13, 17, 21, 25, 29, 33, 37]);
  });

  test('reports its partitions and its lag, which ends with the commits', async () => {
    await produce(0, 40);
    const reader = read({}, false);
    await reader.has(40);
    const figures = () => reader.source.figures();
    await eventually(() => figures().consumer?.lag[topic] === 40, { timeoutMs: 30000, what: 'a lag of 40' });
    expect(figures()).toMatchObject({ state: 'connected', code: '', counters: { received: 40, safe: 0 } });
    expect(figures().consumer).toMatchObject({ unsafe: 40, committed: 0, partitions: 4 });
    for (const { done } of reader.got) done();
    await eventually(() => figures().consumer?.lag[topic] === 0, { timeoutMs: 30000, what: 'no lag' });
    expect(figures().counters.safe).toBe(40);
    expect(figures().consumer).toMatchObject({ unsafe: 0, committed: 40 });
  });

  test('pauses while the window is full, and keeps its place in the group', async () => {
    await produce(0, 400);
    const reader = read({ window: 20 }, false);
    await reader.has(20);
    await eventually(() => reader.source.waits, { what: 'it waits' });
    expect(reader.got.length).toBeLessThan(200);
    reader.isSafe = true;
    for (const { done } of reader.got.slice()) done();
    await reader.has(400);
    inOrder(reader);
  });

  test('loses nothing when members join and leave the group', async () => {
    const first = read();
    await first.connected();
    await produce(0, 100);
    await first.has(100);
    const second = read();
    await second.connected();
    await produce(100, 200);
    const both = () => new Set([...first.texts, ...second.texts]).size;
    await eventually(() => both() >= 200, { timeoutMs: 60000, what: '200 records' });
    await first.source.stop();
    await produce(200, 300);
    await eventually(() => both() >= 300, { timeoutMs: 60000, what: '300 records' });
    expect(second.texts.map(Number).some((n) => n >= 200)).toBe(true);
  });

  test('a member that comes back after a takeover moves no commit back, and hands nothing over twice', async () => {
    const reader = read({}, false);
    await reader.connected();
    await produce(0, 200);
    await reader.has(200);
    /** @param {number} below @param {string} expected commits */
    const commit = async (below, expected) => {
      for (const { args, done } of reader.got) if (Number(args.payload) < below) done();
      let commits = '';
      await eventually(
        async () => (commits = String(await client.committed(topic, topic, PARTITIONS))) === expected,
        { timeoutMs: 60000, everyMs: 100, what: () => `${expected} (${commits})` }
      );
    };
    await commit(40, '10,10,10,10');
    // Others have delivered 40 of the 50 records of partition 0 meanwhile.
    await client.takeOver(topic, topic, 0, 40);
    await commit(120, '40,30,30,30');
    for (const { done } of reader.got) done();
    await produce(200, 240);
    await reader.has(240);
    for (const { done } of reader.got) done();
    await eventually(async () => (await client.committed(topic, topic, PARTITIONS)).every((n) => n === 60), {
      timeoutMs: 60000,
      everyMs: 100,
      what: 'all commits'
    });
    expect(reader.got).toHaveLength(240);
    inOrder(reader);
  });

  test('reads a record again that the engine did not take', async () => {
    await produce(0, 8);
    const reader = read({}, false);
    await reader.has(8);
    const [one] = reader.got.filter(({ args }) => String(args.payload) === '4');
    reader.isSafe = true;
    one.done(Object.assign(new Error('The engine is full.'), { code: 'SEGANET_FULL' }));
    await eventually(() => reader.texts.filter((text) => text === '4').length > 1, {
      timeoutMs: 60000,
      what: 'the record again'
    });
    expect(reader.warnings.join()).toMatch(/engine is full/);
  });

  test('drops a record without a device with a warning, and continues', async () => {
    await client.produce(topic, 0, [{ value: 'nobody' }, { key: 'dev-0', value: '1' }]);
    const reader = read();
    await reader.has(1);
    expect(reader.texts).toEqual(['1']);
    expect(reader.warnings.join()).toMatch(/names no device: its key is missing/);
  });

  test('names a topic that does not exist, and reads it when it does', async () => {
    const reader = read({ topics: `${topic}-later` });
    await eventually(() => reader.source.state === 'refused', { timeoutMs: 60000, what: 'refused' });
    expect(reader.source.why?.reason).toMatch(/does not exist/);
    await client.createTopics([`${topic}-later`], 1);
    await reader.connected();
    await client.produce(`${topic}-later`, 0, [{ key: 'd', value: '1' }]);
    await reader.has(1);
  });

  test('continues after its broker was killed', async () => {
    const reader = read();
    await produce(0, 40);
    await reader.has(40);
    await broker.kill();
    await eventually(() => reader.source.state !== 'connected', { timeoutMs: 60000, what: 'not connected' });
    await broker.again();
    await reader.connected();
    await produce(40, 80);
    await reader.has(80);
    inOrder(reader);
  });
});
