'use strict';
// The presence topic of OCF regions in a real Kafka.

const { randomUUID } = require('node:crypto');
const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { kafkaLog } = require('../../../nodes/lib/ocf/regions/running-region');
const { clusterOf } = require('./rig');

const { describe } = needs(...kafkaTools());
const LIMIT = { timeoutMs: 60000 };

jest.setTimeout(180000);

describe('the presence topic', () => {
  /** @type {KafkaBroker} */
  let broker;
  /** @type {KafkaClient} */
  let client;
  /** @type {any[]} */
  const gateways = [];

  beforeAll(async () => {
    broker = await new KafkaBroker().start();
    client = new KafkaClient(broker.address);
  });
  afterEach(async () => {
    for (const { thread } of gateways.splice(0)) await thread.stop();
  });
  afterAll(async () => {
    await client?.close();
    await broker?.stop();
  });

  /** @param {string} topic */
  async function open(topic) {
    /** @type {any} */
    const gateway = { got: new Map(), said: [], caughtUp: 0, restarted: 0, early: -1 };
    const cluster = clusterOf({ brokers: broker.address, reconnectMinMs: 100, reconnectMaxMs: 500 });
    const ci = `coaps+tcp://127.0.0.1:${5000 + gateways.length}`;
    gateway.thread = kafkaLog({ cluster, clientId: `region-${gateways.length}`, topic, ci })({
      records: (records) => {
        for (const { key, value } of records) if (!key.startsWith('region:')) gateway.got.set(key, value);
      },
      caughtUp: () => {
        gateway.caughtUp++;
        gateway.early = gateway.early < 0 ? gateway.got.size : gateway.early;
      },
      restarted: () => gateway.restarted++,
      report: (sentence) => gateway.said.push(sentence)
    });
    gateways.push(gateway);
    gateway.thread.start();
    await eventually(() => gateway.caughtUp > 0, { ...LIMIT, what: `caught up (${gateway.said})` });
    return gateway;
  }
  const has = (gateway, key, value) =>
    eventually(() => gateway.got.get(key) === value, {
      ...LIMIT,
      what: `${key} is ${value} (${gateway.said})`
    });

  test('is created, read from its start, and written after the cluster and the thread were away', async () => {
    const first = await open('presence');
    const ids = Array.from({ length: 1200 }, () => randomUUID());
    first.thread.publish(ids.map((key) => ({ key, value: 'one' })));
    first.thread.publish([
      { key: ids[0], value: 'two' },
      { key: ids[1], value: null }
    ]);
    await has(first, ids[0], 'two');
    await eventually(() => first.thread.waiting === 0, { ...LIMIT, what: 'all is written' });
    const second = await open('presence');
    expect(second.early).toBe(ids.length);
    expect(second.got.get(ids[1])).toBeNull();
    expect([first.restarted, second.restarted]).toEqual([0, 0]);

    await broker.kill();
    await eventually(() => first.thread.state === 'disconnected', { ...LIMIT, what: 'disconnected' });
    expect(first.thread.reason).toContain('cannot be read from Kafka');
    first.thread.publish([{ key: ids[2], value: 'lost?' }]);
    first.thread.publish([{ key: ids[2], value: 'kept' }]);
    await broker.again();
    await has(second, ids[2], 'kept');
    await eventually(() => first.caughtUp === 2, { ...LIMIT, what: 'caught up again' });
    expect([first.restarted, second.restarted]).toEqual([0, 0]);
  });

  test('may have partitions, and must be compacted', async () => {
    await client.createTopics(['wide'], 3, [{ name: 'cleanup.policy', value: 'compact' }]);
    const first = await open('wide');
    const ids = Array.from({ length: 20 }, () => randomUUID());
    first.thread.publish(ids.map((key) => ({ key, value: 'on' })));
    await eventually(() => first.got.size === ids.length, { ...LIMIT, what: 'all are read' });
    expect((await open('wide')).early).toBe(ids.length);
    await client.createTopics(['short'], 1, [{ name: 'cleanup.policy', value: 'delete' }]);
    const short = await open('short');
    expect(short.said.join()).toContain('Set its cleanup.policy to compact');
  });
});
