'use strict';
// Commands of the cloud and connections of devices at two gateways of the preset "cluster", over a real Kafka.

const { setTimeout: sleep } = require('node:timers/promises');
const mqtt = require('mqtt');
const { startCloud } = require('../../../bench/harness/cloud');
const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { Machine, TOPICS } = require('./machines');

const { describe } = needs('mosquitto', 'openssl', ...kafkaTools());
const LIMIT = { timeoutMs: 60000, everyMs: 50 };
const SHARED = ['seganet.commands', 'seganet.devices'];
/** Of MQTT 5, with a reason alone. */
const DISCONNECT = Buffer.from([0xe0, 1]);
const TAKEN_OVER = 0x8e;

jest.setTimeout(240000);

describe('two gateways share commands and devices', () => {
  /** @type {KafkaBroker} */
  let kafka;
  /** @type {KafkaClient} */
  let client;
  /** @type {Awaited<ReturnType<typeof startCloud>>} */
  let cloud;
  /** @type {mqtt.MqttClient} */
  let operator;
  /** @type {Machine} */
  let a;
  /** @type {Machine} */
  let b;
  /** Statuses of each command, and who reported the last one. @type {Map<string, string[]>} */
  const statuses = new Map();
  /** Outcomes in the topic, by key. @type {Map<string, string[]>} */
  const outcomes = new Map();
  /** @type {mqtt.MqttClient[]} */
  const devices = [];

  const statusesOf = (/** @type {string} */ id) => statuses.get(id) ?? [];
  const add = (map, key, value) => map.set(key, [...(map.get(key) ?? []), value]);

  /** @param {Machine} machine @param {RegExp} pattern of a line of the metrics */
  async function metric(machine, pattern) {
    const url = `http://127.0.0.1:${machine.statusPort}/seganet/metrics`;
    const text = await fetch(url).then(
      (answer) => answer.text(),
      () => ''
    );
    return pattern.exec(text)?.[1] ?? '';
  }

  /** @param {Machine} machine */
  async function start(machine) {
    await machine.start();
    await eventually(async () => (await metric(machine, /^seganet_cluster_ready\{[^}]*\} (\d)/m)) === '1', {
      ...LIMIT,
      timeoutMs: 120000,
      what: `${machine.name} has read the topics: ${machine.gateway?.output.slice(-500)}`
    });
    await cloud.waitForClient(new RegExp(`^${machine.name}-cmd$`));
  }

  beforeAll(async () => {
    [cloud, kafka] = await Promise.all([startCloud(), new KafkaBroker().start()]);
    client = new KafkaClient(kafka.address);
    await client.createTopics(TOPICS, 1);
    await client.createTopics(SHARED, 1, [{ name: 'cleanup.policy', value: 'compact' }]);
    await client.read(SHARED.slice(0, 1), (records) => {
      for (const { key, headers } of records) if (headers.status) add(outcomes, String(key), headers.status);
    });
    operator = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { clientId: 'receiver-operator', protocolVersion: 5 }); // prettier-ignore
    operator.on('message', (_topic, payload) => {
      const { id, status } = JSON.parse(payload.toString());
      add(statuses, id, status);
    });
    await operator.subscribeAsync('cmd-report/cluster/#', { qos: 1 });
    const env = {
      SEGANET_PRESET: 'cluster',
      SEGANET_COMMANDS: 'on',
      SEGANET_KAFKA_BROKERS: kafka.address,
      SEGANET_KAFKA_SECURITY: 'plaintext',
      SEGANET_UPLINK_URL: cloud.url,
      SEGANET_UPLINK_CA: cloud.files.ca
    };
    [a, b] = ['gw-a', 'gw-b'].map((name) => new Machine(name, kafka, env));
    await Promise.all([start(a), start(b)]);
    // What is published before a subscription is lost.
    await eventually(
      async () => {
        await command('nobody', 'probe', 1);
        return statusesOf('probe').length > 0;
      },
      { ...LIMIT, everyMs: 200, what: 'the subscription' }
    );
  });
  afterAll(async () => {
    for (const device of devices) device.end(true);
    a?.signal('SIGCONT', false);
    await Promise.all([a?.burnGateway(), b?.burnGateway()]);
    await operator?.endAsync(true);
    await client?.close();
    await kafka?.stop();
    await cloud?.close();
  });

  /** @param {string} device @param {string} id @param {number} expiryS */
  const command = (device, id, expiryS = 60) =>
    operator.publishAsync(`cmd/cluster/${device}/set`, id, {
      qos: 1,
      properties: { messageExpiryInterval: expiryS, userProperties: { id } }
    });

  /**
   * A device that listens to its commands.
   * @param {Machine} machine @param {string} id @param {{ acknowledges?: boolean }} [how]
   */
  async function connect(machine, id, { acknowledges = true } = {}) {
    /** @type {string[]} */
    const got = [];
    /** @type {number[]} */
    const ends = [];
    /** @type {(() => void)[]} */
    const acks = [];
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${machine.port}`, {
      clientId: id,
      protocolVersion: 5,
      reconnectPeriod: 0,
      customHandleAcks: (_topic, payload, _packet, done) => {
        got.push(payload.toString());
        if (acknowledges) done(0);
        else acks.push(() => done(0));
      }
    });
    device.on('error', () => {});
    // MQTT.js reads no packet behind one that it must not acknowledge yet.
    device.stream.on('data', (bytes) => {
      const at = bytes.indexOf(DISCONNECT);
      if (at >= 0) ends.push(bytes[at + DISCONNECT.length]);
    });
    devices.push(device);
    await device.subscribeAsync(`cmd/${id}/#`, { qos: 1 });
    return { device, got, ends, acks };
  }

  /** Waits for the outcome, and whether another one follows. @param {string} id @param {string} status */
  async function endsAs(id, status) {
    // They may come from two gateways, in any order.
    await eventually(() => statusesOf(id).includes(status) && statusesOf(id).includes('queued'), {
      ...LIMIT,
      what: () => `${id} queued and ${status}, not ${statusesOf(id)}`
    });
    expect(statusesOf(id)).toHaveLength(2);
  }

  test('a command of the cloud reaches a device at either gateway, and one of them reports it', async () => {
    const [one, two] = await Promise.all([connect(a, 'one'), connect(b, 'two')]);
    await Promise.all([command('one', 'to-one'), command('two', 'to-two')]);
    await Promise.all([endsAs('to-one', 'taken'), endsAs('to-two', 'taken')]);
    expect([one.got, two.got]).toEqual([['to-one'], ['to-two']]);
  });

  test('a command that the cloud writes into the topic is delivered, and its outcome is there', async () => {
    const device = await connect(b, 'direct');
    const value = JSON.stringify({ device: 'direct', id: 'w1', rest: 'set', payload: 'from Kafka' });
    await client.produce(SHARED[0], 0, [{ key: 'direct/w1', value }]);
    await eventually(() => outcomes.has('direct/w1'), { ...LIMIT, what: 'its outcome' });
    expect(outcomes.get('direct/w1')).toEqual(['taken']);
    expect(device.got).toEqual(['from Kafka']);
  });

  test('a command follows its device, whose connection at the first gateway ends', async () => {
    const first = await connect(a, 'mover', { acknowledges: false });
    await command('mover', 'moved');
    await eventually(() => first.got.length > 0, { ...LIMIT, what: 'the command at the first gateway' });
    const second = await connect(b, 'mover');
    await eventually(() => first.ends.length > 0, { ...LIMIT, what: 'the end of the first connection' });
    expect(first.ends).toEqual([TAKEN_OVER]);
    await endsAs('moved', 'taken');
    expect([first.got, second.got]).toEqual([['moved'], ['moved']]);
    expect(Number(await metric(a, /^seganet_cluster_taken_over_total\{[^}]*\} (\d+)/m))).toBe(1);
  });

  test('a command whose device does not come in time is reported as expired once', async () => {
    await command('absent', 'too-late', 2);
    await endsAs('too-late', 'expired');
    const late = await connect(a, 'absent');
    await command('absent', 'in-time');
    await endsAs('in-time', 'taken');
    expect(late.got).toEqual(['in-time']);
    expect(statusesOf('too-late')).toEqual(['queued', 'expired']);
  });

  test('a gateway that stood still while its device went on reports nothing twice', async () => {
    const before = await connect(a, 'sleeper', { acknowledges: false });
    await command('sleeper', 'slept');
    // The report that it is queued comes from the gateway that took it, which may be this one.
    const isKept = () => before.got.length > 0 && statusesOf('slept').length > 0;
    await eventually(isKept, { ...LIMIT, what: 'the command, and its first report' });
    a.signal('SIGSTOP', false);
    // It arrives at the frozen gateway.
    before.acks[0]();
    const after = await connect(b, 'sleeper');
    await endsAs('slept', 'taken');
    expect(after.got).toEqual(['slept']);
    a.signal('SIGCONT', false);
    await eventually(() => before.ends.length > 0, { ...LIMIT, what: 'the end of the old connection' });
    expect(before.ends).toEqual([TAKEN_OVER]);
    await sleep(1500);
    expect(statusesOf('slept')).toEqual(['queued', 'taken']);
    await command('sleeper', 'awake');
    await endsAs('awake', 'taken');
    expect(after.got).toEqual(['slept', 'awake']);
  });

  test('a command that waits outlives the gateway that took it', async () => {
    for (let i = 0; i < 4; i++) await command('far', `waits-${i}`);
    const ids = ['waits-0', 'waits-1', 'waits-2', 'waits-3'];
    await eventually(() => ids.every((id) => statusesOf(id).length > 0), { ...LIMIT, what: 'all are kept' });
    // Each of the two took a part.
    await a.burnGateway();
    const far = await connect(b, 'far');
    for (const id of ids) await endsAs(id, 'taken');
    expect(far.got).toEqual(expect.arrayContaining(ids));
    expect(await metric(b, /^seganet_cluster_commands_waiting\{[^}]*\} (\d+)/m)).toBe('0');
  });
});
