'use strict';
// The thread of a Kafka cluster between the real engine and a real broker.

const { temporaryCertificates } = require('../../../bench/harness/certificates');
const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { createTopics, readTopics, recreateTopic } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { partitionOf } = require('../../../nodes/lib/kafka/uplink/murmur2');
const { Rig } = require('./rig');
const fs = require('node:fs');
const path = require('node:path');

const { describe } = needs(...kafkaTools(), 'openssl');

jest.setTimeout(240000);

describe('the kafka uplink', () => {
  /** @type {KafkaBroker} */
  let broker;
  /** @type {Rig[]} */
  const rigs = [];
  let number = 0;
  /** A prefix of topics for each test. */
  let own = '';

  beforeAll(async () => {
    broker = await new KafkaBroker({ lines: ['message.max.bytes=100000'] }).start();
  });
  beforeEach(() => {
    own = `t${++number}`;
  });
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.stop();
  });
  afterAll(() => broker?.stop());

  /** @param {object} [options] of Rig @param {object} [settings] of the cluster */
  function start(options = {}, settings = {}) {
    const stage = { topic: `${own}.{class}`, envelopeTopic: `${own}.{class}` };
    const rig = new Rig({ brokers: broker.address, ...settings }, { stage, ...options });
    rigs.push(rig);
    return rig;
  }

  test('replicated: a topic that two brokers need not have takes no record, and says why', async () => {
    await createTopics(broker.address, [`${own}.normal`], 1);
    const rig = start({ replicated: true });
    rig.push('pump', '1');
    await eventually(() => rig.problems.some(({ code }) => code === 'NOT_REPLICATED'), {
      timeoutMs: 20000,
      what: () => JSON.stringify(rig.problems)
    });
    const { reason } = rig.problems.find(({ code }) => code === 'NOT_REPLICATED');
    expect(reason).toMatch(
      /does not provide it: its min\.insync\.replicas is 1: set it to 2 or more\. The records wait\./
    );
    rig.complete();
    expect(rig.completed.size).toBe(0);
  });

  test('writes each record with the key, the partition and the headers that are documented', async () => {
    await createTopics(broker.address, [`${own}.normal`, `${own}.critical`], 5);
    const rig = start();
    for (let i = 0; i < 100; i++) rig.push(`dev-${i % 7}`, `{"i":${i}}`, { cls: i % 10 === 0 ? 1 : 3 });
    await rig.allDone();
    expect(new Set(rig.completed.values())).toEqual(new Set([1]));
    const got = await readTopics(
      broker.address,
      [`${own}.normal`, `${own}.critical`],
      ({ length }) => length >= 100
    );
    expect(got).toHaveLength(100);
    expect(got.filter(({ topic }) => topic === `${own}.critical`)).toHaveLength(10);
    const keys = new Set();
    for (const message of got) {
      const { headers } = message;
      const cls = message.topic === `${own}.critical` ? '1' : '3';
      expect(headers).toMatchObject({ topic: 'hall/temp', class: cls, source: 'mqtt' });
      expect(headers.ts).toMatch(/^\d{13}$/);
      expect(Number(message.timestamp)).toBe(Number(headers.ts));
      expect(headers.key).toMatch(new RegExp(`^gw1/[0-9a-z]+/${cls}/\\d+(\\.\\d+)?$`));
      expect(message.partition).toBe(partitionOf(message.key, 5));
      keys.add(headers.key);
    }
    expect(keys.size).toBe(100);
    for (let device = 0; device < 7; device++) {
      const numbers = got
        .filter(({ key, topic }) => String(key) === `dev-${device}` && topic === `${own}.normal`)
        .map(({ value }) => JSON.parse(String(value)).i);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }
  });

  test('writes records whose time Kafka refuses without a timestamp, and warns', async () => {
    await createTopics(broker.address, [`${own}.normal`], 1);
    const rig = start();
    const ts = Date.now() + 2 * 3_600_000;
    for (let i = 0; i < 10; i++) rig.push('d', `${i}`, { ts: i % 2 ? ts : 0 });
    await rig.allDone();
    expect(new Set(rig.completed.values())).toEqual(new Set([1]));
    const got = await readTopics(broker.address, [`${own}.normal`], ({ length }) => length >= 10);
    expect(got.map(({ value }) => String(value))).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
    for (const { headers, timestamp } of got.filter((_, i) => i % 2 === 1))
      expect([headers.ts, timestamp]).toEqual([String(ts), -1]);
    await eventually(() => rig.problems.some(({ code }) => code === 'INVALID_TIMESTAMP'), {
      what: () => JSON.stringify(rig.problems)
    });
  });

  test.each(['records', 'off'])('writes the own time and number of each record (mode %s)', async (mode) => {
    await createTopics(broker.address, [`${own}.normal`], 1);
    const rig = start({ mode, batch: { flush: 'limits', maxDelayMs: 300 } });
    const from = Date.now() - 1000000;
    for (let i = 0; i < 50; i++) rig.push('d', `{"i":${i}}`, { ts: from + i * i, seq: 4294967245 + i });
    await rig.allDone();
    const got = await readTopics(broker.address, [`${own}.normal`], ({ length }) => length >= 50);
    const seen = got.map(({ value, timestamp, headers: { ts, seq } }) => [String(value), timestamp, ts, seq]);
    expect(seen).toEqual(
      Array.from({ length: 50 }, (_, i) => {
        const ts = from + i * i;
        return [`{"i":${i}}`, ts, String(ts), String(4294967245 + i)];
      })
    );
    expect(got.every(({ headers }) => headers.lastTs === undefined)).toBe(true);
  });

  test('compresses requests by each algorithm, which the console consumer of Kafka can read', async () => {
    const algorithms = ['gzip', 'snappy', 'lz4', 'zstd'];
    const batch = { flush: 'limits', maxDelayMs: 300, maxBytes: 100000 };
    const RECORDS = 200;
    await createTopics(
      broker.address,
      algorithms.map((name) => `${own}.${name}`),
      1
    );
    const valueOf = (/** @type {string} */ name, /** @type {number} */ i) =>
      `${name} ${i} ${'x'.repeat(500)}`;
    for (const name of algorithms) {
      const rig = start({ stage: { topic: `${own}.${name}` }, batch }, { compression: name });
      for (let i = 0; i < RECORDS; i++) rig.push('d', valueOf(name, i));
    }
    for (const rig of rigs) await rig.allDone();
    const lines = await broker.consoleConsumer(`${own}[.].*`, RECORDS * algorithms.length);
    for (const name of algorithms) {
      const expected = Array.from({ length: RECORDS }, (_, i) => valueOf(name, i));
      expect(lines.filter((line) => line.startsWith(name))).toEqual(expected);
      const file = path.join(broker.folder, 'data', `${own}.${name}-0`, '00000000000000000000.log');
      const { size } = fs.statSync(file);
      expect([name, size > 0 && size < (RECORDS * 500) / 2]).toEqual([name, true]);
    }
    const topics = algorithms.map((name) => `${own}.${name}`);
    const got = await readTopics(broker.address, topics, ({ length }) => length >= lines.length);
    expect(got.map(({ value }) => String(value)).sort()).toEqual([...lines].sort());
  });

  test('writes envelopes with the key of the gateway, and cuts one that is too large for the topic', async () => {
    await createTopics(broker.address, [`${own}.normal`], 3, [{ name: 'max.message.bytes', value: '6000' }]);
    const rig = start({ mode: 'envelope', batch: { flush: 'limits', maxBytes: 30000, maxDelayMs: 200 } });
    for (let i = 0; i < 100; i++) rig.push(`d${i % 3}`, JSON.stringify({ i, fill: 'x'.repeat(200) }));
    await rig.allDone();
    const linesOf = (/** @type {any[]} */ got) =>
      got.flatMap(({ value }) =>
        String(value)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      );
    const got = await readTopics(broker.address, [`${own}.normal`], (all) => linesOf(all).length >= 100);
    expect(new Set(got.map(({ key }) => String(key)))).toEqual(new Set(['gw1']));
    expect(got.length).toBeGreaterThan(4);
    expect(linesOf(got).map(({ p }) => p.i)).toEqual([...Array(100).keys()]);
    for (const message of got) {
      const [first] = linesOf([message]);
      expect(first.k).toBe(message.headers.key);
      expect(Number(message.headers.count)).toBe(linesOf([message]).length);
      expect(first.k).toMatch(/^gw1\/[0-9a-z]+\/3\/\d+\.\d+$/);
    }
    expect(rig.state).toMatchObject({ state: 'connected', deadLetters: 0 });
  });

  test('names a missing topic, sends the other classes meanwhile, and all records when it exists', async () => {
    await createTopics(broker.address, [`${own}.normal`]);
    const rig = start();
    rig.push('d', 'bulk', { cls: 4 });
    // Class 1 has a producer of its own, which may connect later.
    const state = await eventually(
      () => rig.state.state === 'refused' && rig.state.sessions[0].state === 'connected' && rig.state,
      { timeoutMs: 60000, what: 'a refused topic' }
    );
    expect(state.reason).toMatch(new RegExp(`topic "${own}\\.bulk" does not exist`));
    expect(state.producers[1]).toMatchObject({
      code: 'UNKNOWN_TOPIC_OR_PARTITION',
      refusedTopics: 1,
      inflight: 1
    });
    rig.push('d', 'normal');
    await eventually(() => rig.completed.has(2), { timeoutMs: 30000, what: 'class 3' });
    expect(rig.completed.has(1)).toBe(false);
    await createTopics(broker.address, [`${own}.bulk`]);
    await rig.allDone();
    await rig.reach('connected');
    const [, { requests, ...counts }] = await eventually(
      () => rig.state.producers[1].acknowledged === 2 && rig.state.producers,
      { what: 'two acknowledged records' }
    );
    expect(requests).toBeGreaterThanOrEqual(2);
    expect(counts).toMatchObject({ sent: 2, retried: 0, inflight: 0, topics: 2, partitions: 8, code: '' });
  });

  test('continues with fewer partitions when a topic was created again, with a message', async () => {
    const topic = `${own}.normal`;
    const devices = Array.from({ length: 20 }, (_, i) => `dev-${i}`);
    await createTopics(broker.address, [topic], 5);
    const rig = start();
    for (const device of devices) rig.push(device, 'before');
    await rig.allDone();
    await recreateTopic(broker.address, topic, 2);
    for (const device of devices) rig.push(device, 'after');
    await rig.allDone();
    const got = await readTopics(broker.address, [topic], ({ length }) => length >= devices.length);
    expect(new Set(got.map(({ key }) => String(key)))).toEqual(new Set(devices));
    await eventually(() => rig.problems.length > 0, { what: 'the reason' });
    expect(rig.problems.map(({ reason }) => reason)).toEqual([
      `The topic "${topic}" was created again with fewer partitions (2 instead of 5). Its records go to these.`
    ]);
  });

  test.each(['records', 'off'])(
    'writes the trace of a record as headers, not into its value (mode %s)',
    async (mode) => {
      const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      await createTopics(broker.address, [`${own}.normal`], 1);
      const rig = start({ mode });
      rig.push('d', '{"a":1}', { trace: `${trace}vendor=x` });
      rig.push('d', '{"a":2}');
      await rig.allDone();
      const got = await readTopics(broker.address, [`${own}.normal`], ({ length }) => length >= 2);
      expect(got.map(({ value }) => String(value))).toEqual(['{"a":1}', '{"a":2}']);
      expect(got[0].headers).toMatchObject({ traceparent: trace, tracestate: 'vendor=x' });
      expect(got[1].headers).not.toHaveProperty('traceparent');
    }
  );

  test('gives up a record that is too large, and sends those before and behind it', async () => {
    await createTopics(broker.address, [`${own}.normal`], 1);
    const rig = start({ batch: { maxBytes: 300000 } });
    await rig.reach('connected');
    for (let i = 0; i < 20; i++) rig.push('d', i === 10 ? Buffer.alloc(150000) : String(i));
    await rig.allDone();
    const got = await readTopics(broker.address, [`${own}.normal`], ({ length }) => length >= 19);
    expect(got.map(({ value }) => Number(value))).toEqual([...Array(20).keys()].filter((i) => i !== 10));
    await eventually(() => rig.state.deadLetters === 1, { what: 'one dead letter' });
    await eventually(() => rig.problems.some(({ reason }) => /Raise max\.message\.bytes/.test(reason)), {
      what: 'the reason'
    });
  });

  test('keeps the records of all classes that share a partition, each class in order', async () => {
    await createTopics(broker.address, [`${own}.all`], 1);
    const rig = start({ stage: { topic: `${own}.all` } });
    await rig.reach('connected');
    for (let i = 0; i < 2000; i++) {
      rig.push('d', String(i), { cls: 2 + (i % 7) });
      if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await rig.allDone();
    const got = await readTopics(broker.address, [`${own}.all`], ({ length }) => length >= 2000);
    const values = got.map(({ value }) => Number(value));
    expect(new Set(values).size).toBe(2000);
    // Consumers drop a record whose key they have seen.
    expect(new Set(got.map(({ headers }) => headers.key)).size).toBe(2000);
    for (let cls = 0; cls < 7; cls++) {
      const ofClass = values.filter((value) => value % 7 === cls);
      expect(ofClass).toEqual([...ofClass].sort((a, b) => a - b));
    }
  });

  test('escapes the topic of a record, and gives up one whose name is too long', async () => {
    await createTopics(broker.address, [`${own}.hall.a_20b`]);
    const rig = start({ stage: { topic: `${own}.{topic}` }, mode: 'off' });
    rig.push('d', 'one', { topic: 'hall/a b' });
    rig.push('d', 'two', { topic: 'x'.repeat(300) });
    await rig.allDone();
    const [message] = await readTopics(broker.address, [`${own}.hall.a_20b`], ({ length }) => length >= 1);
    expect(message.headers.topic).toBe('hall/a b');
    expect(rig.state.deadLetters + rig.states.length).toBeGreaterThan(0);
    await eventually(() => rig.state.deadLetters === 1, { what: 'one dead letter' });
  });

  test('connects although brokers of its list are away', async () => {
    await createTopics(broker.address, [`${own}.normal`], 1);
    const rig = start({}, { brokers: `127.0.0.1:1, ${broker.address}, 127.0.0.1:2` });
    rig.push('d', 'one');
    await rig.allDone();
    const got = await readTopics(broker.address, [`${own}.normal`], ({ length }) => length >= 1);
    expect(got.map(({ value }) => String(value))).toEqual(['one']);
    expect(rig.state.state).toBe('connected');
  });

  test('reports a cluster that does not answer, and connects when it does', async () => {
    const rig = start({}, { brokers: '127.0.0.1:1' });
    const state = await rig.reach('disconnected');
    expect(state).toMatchObject({ code: 'ECONNREFUSED' });
    expect(state.reason).toMatch(/No broker of the Kafka cluster can be reached/);
  });
});

describe('the kafka uplink with a login', () => {
  /** @type {ReturnType<typeof certificates>} */
  let made;
  beforeAll(() => (made = certificates()));
  afterAll(() => made?.remove());

  /** @param {'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'} mechanism */
  async function withBroker(mechanism, run) {
    const login = { user: 'gateway', password: 'secret-1', mechanism };
    const broker = await new KafkaBroker({ login, tls: { pem: made.pem } }).start();
    const rigs = [];
    try {
      await createTopics(broker.plainAddress, ['seganet.normal']);
      await run((/** @type {object} */ settings, /** @type {object} */ tls) => {
        const rig = new Rig(
          {
            brokers: broker.address,
            security: 'tls',
            sasl: mechanism.toLowerCase(),
            username: 'gateway',
            ...settings
          },
          { tls: { ca: made.ca, servername: 'localhost', ...tls } }
        );
        rigs.push(rig);
        return rig;
      });
    } finally {
      for (const rig of rigs) await rig.stop();
      await broker.stop();
    }
  }

  test.each(['SCRAM-SHA-512', 'PLAIN'])(
    'authenticates by %s over TLS, and reports a wrong password and authority',
    (mechanism) =>
      withBroker(/** @type {any} */ (mechanism), async (/** @type {any} */ start) => {
        const good = start({ password: 'secret-1' });
        good.push('d', '1');
        await good.allDone();
        const wrong = start({ password: 'wrong' });
        expect((await wrong.reach('refused')).reason).toMatch(/refuses this gateway/);
        const foreign = start({ password: 'secret-1' }, { ca: undefined });
        expect((await foreign.reach('refused')).reason).toMatch(
          /certificate of the Kafka cluster is not accepted/
        );
      })
  );
});

/** A certificate of localhost as Kafka reads it: the key in PKCS 8, and the chain, in one file. */
function certificates() {
  const { folder, caFile, certFile, keyFile, ca, remove } = temporaryCertificates();
  const pem = path.join(folder, 'kafka.pem');
  const parts = [keyFile, certFile, caFile].map((file) => fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(pem, parts.join(''));
  return { pem, ca, remove };
}
