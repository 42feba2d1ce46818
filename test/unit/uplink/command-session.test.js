'use strict';

// The session for commands against a real broker: mosquitto on loopback, MQTT 3.1.1 and 5.

const mqtt = require('mqtt');
const { Broker, until } = require('../../../bench/harness/broker');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { Link } = require('../../fixtures/uplink/link');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { CommandSession } = require('../../../nodes/lib/uplink/commands/command-session');
const native = require('../../../native');
const { UplinkBench } = require('../../fixtures/uplink/uplink-bench');
const { needs } = require('../../../bench/harness/tools');

const { describe: withBroker } = needs('mosquitto');

jest.setTimeout(30000);

/** @type {Broker} */
let broker;
/** @type {import('mqtt').MqttClient} */
let cloud;
/** @type {(() => unknown)[]} */
const cleanups = [];
/** Of each test, so that tests can share the broker. */
let gateway = 'gw0';

/** The session in its own thread; received commands are in `got`. */
function startThread(options = {}) {
  const bench = new UplinkBench({
    url: broker.plainUrl,
    commands: true,
    gateway,
    protocolVersion: 5,
    ...options
  });
  const got = [];
  bench.thread.on('command', ({ payload, ...command }) =>
    got.push({ ...command, payload: Buffer.from(payload).toString() })
  );
  cleanups.push(() => bench.stop(0));
  return { bench, got, answer: (ack) => bench.thread.answer(ack), view: () => bench.states.at(-1)?.commands ?? {} }; // prettier-ignore
}

/** The session alone, in this thread. */
function start(options = {}) {
  const got = [];
  const problems = [];
  const states = [];
  const session = new CommandSession({
    options: checkOptions(
      {
        url: broker?.plainUrl,
        gateway,
        protocolVersion: 5,
        reconnectMinMs: 50,
        reconnectMaxMs: 100,
        ...options
      },
      ''
    ),
    native,
    generation: 1,
    handOver: ({ payload, ...command }) => {
      got.push({ ...command, payload: Buffer.from(payload).toString() });
      expect(payload.buffer.byteLength).toBe(payload.length);
      options.onCommand?.(command);
    },
    problem: (code) => problems.push(code),
    onStatus: () => states.push(session?.view().code),
    now: () => performance.now()
  });
  session.start();
  cleanups.push(() => session.stop());
  return { session, got, problems, states, answer: (ack) => session.answer(ack), view: () => session.view() };
}

async function connected(session) {
  await until(() => session.view().state === 'connected');
  await until(() => count(`Sending SUBACK to ${gateway}-cmd`) > 0);
}

const count = (text) => broker.readLog().split('\n').filter((line) => line.includes(text)).length; // prettier-ignore
const pubacks = () => {
  const line = new RegExp(`Received PUBACK from ${gateway}-cmd \\(Mid: (\\d+)`, 'g');
  return [...broker.readLog().matchAll(line)].map(([, id]) => Number(id));
};
const say = (topic, payload = 'x', options = {}) =>
  cloud.publishAsync(topic, payload, { qos: 1, ...options });

/** The received reports, as [topic, body, properties]. */
async function reports(filter) {
  const got = [];
  cloud.on('message', (topic, payload, { properties }) => got.push([topic, JSON.parse(String(payload)), properties])); // prettier-ignore
  await cloud.subscribeAsync(filter, { qos: 1 });
  return got;
}

withBroker('commands', () => {
  beforeAll(async () => (broker = await Broker.start()));
  afterAll(() => broker.remove());
  beforeEach(async () => {
    gateway = `gw${Number(gateway.slice(2)) + 1}`;
    await until(async () => (cloud = await mqtt.connectAsync(broker.plainUrl, { protocolVersion: 5 }).catch(() => null))); // prettier-ignore
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await cloud.endAsync(true);
  });

  test.each([4, 5])(
    'receives a command over TLS with MQTT %i, and acknowledges it when it is safe',
    async (v) => {
      const session = startThread({ url: broker.url, tls: { ca: broker.ca }, protocolVersion: v });
      await connected(session);
      await say(`cmd/${gateway}/pump-7/valve/open`, '{"on":1}');
      await until(() => session.got.length === 1);
      expect(session.got[0]).toMatchObject({
        device: 'pump-7',
        rest: 'valve/open',
        payload: '{"on":1}',
        qos: 1
      });
      await until(() => session.view().open === 1);
      expect(pubacks()).toEqual([]);
      session.answer(session.got[0].ack);
      await until(() => pubacks().length === 1);
      await until(() => session.view().acknowledged === 1);
    }
  );

  test('hands over the properties of a command in MQTT 5', async () => {
    const session = start();
    await connected(session);
    const properties = {
      messageExpiryInterval: 60,
      responseTopic: 'answers/7',
      correlationData: Buffer.from('c-1'),
      userProperties: { id: 'order-1' }
    };
    await say(`cmd/${gateway}/d`, 'x', { properties });
    await until(() => session.got.length === 1);
    const [{ correlation, ...command }] = session.got;
    expect(command).toMatchObject({ device: 'd', rest: '', id: 'order-1', expiryS: 60, responseTopic: 'answers/7' }); // prettier-ignore
    expect(String(Buffer.from(correlation))).toBe('c-1');
  });

  test('sends PUBACKs in the order of the commands, whichever is safe first', async () => {
    const session = start();
    await connected(session);
    for (const id of ['a', 'b', 'c']) await say(`cmd/${gateway}/${id}`);
    await until(() => session.got.length === 3);
    const [a, b, c] = session.got;
    session.answer(c.ack);
    session.answer(b.ack);
    session.answer(b.ack);
    session.answer('nobody');
    await until(() => session.view().open === 1);
    expect(pubacks()).toEqual([]);
    session.answer(a.ack);
    await until(() => pubacks().length === 3);
    expect(pubacks()).toEqual([...pubacks()].sort((x, y) => x - y));
  });

  test.each([4, 5])(
    'receives commands that the broker kept while the gateway was away (MQTT %i)',
    async (v) => {
      const before = start({ protocolVersion: v });
      await connected(before);
      await before.session.stop();
      await say(`cmd/${gateway}/d/late`, 'kept');
      const after = start({ protocolVersion: v });
      await until(() => after.got.length === 1);
      expect(after.got[0]).toMatchObject({ device: 'd', rest: 'late', payload: 'kept' });
    }
  );

  test.each([4, 5])(
    'hands over once a command that is sent again after a lost connection (MQTT %i)',
    async (v) => {
      const link = await Link.open(broker.plainPort);
      cleanups.push(() => link.close());
      const session = start({ url: `mqtt://127.0.0.1:${link.port}`, protocolVersion: v });
      await connected(session);
      await say(`cmd/${gateway}/d/1`);
      await say(`cmd/${gateway}/d/2`);
      await until(() => session.got.length === 2);
      const [first, second] = session.got;
      session.answer(second.ack);
      for (const socket of link.sockets) socket.destroy();
      await until(() => session.view().redelivered === 2);
      expect(pubacks()).toEqual([]);
      session.answer(first.ack);
      await until(() => pubacks().length === 2);
      expect(session.got).toHaveLength(2);
    }
  );

  test('acknowledges and ignores retained messages, and topics that name no device', async () => {
    const session = start();
    await say(`cmd/${gateway}/d/old`, 'x', { retain: true });
    await connected(session);
    await say(`cmd/${gateway}//x`);
    await say(`cmd/${gateway}/d/new`);
    await until(() => session.got.length === 1);
    session.answer(session.got[0].ack);
    await until(() => pubacks().length === 2);
    expect(session.got[0].rest).toBe('new');
    await until(() => session.view().ignored === 1);
    // [MQTT 3.8.3.1] With MQTT 5 the broker does not even send it.
    expect(session.view().retained).toBe(0);
  });

  test('counts a retained message that MQTT 3.1.1 cannot decline', async () => {
    await say(`cmd/${gateway}/d/old`, 'x', { retain: true });
    const session = start({ protocolVersion: 4 });
    await until(() => session.view().retained === 1);
    await until(() => pubacks().length === 1);
    expect(session.got).toEqual([]);
  });

  test('sends reports to the report topic, or to the response topic', async () => {
    const got = await reports([`cmd-report/${gateway}/#`, 'answers/#']);
    const session = start();
    await connected(session);
    const body = { status: 'taken', id: '1', ts: 5 };
    session.session.report({ device: 'd', rest: 'a/b', body });
    session.session.report({ device: 'd', rest: '', body });
    session.session.report({ device: 'd', rest: '', responseTopic: 'answers/1', correlation: Buffer.from('k'), body }); // prettier-ignore
    session.session.report({ device: 'd', rest: 'w', responseTopic: 'answers/#', body });
    await until(() => got.length === 4);
    expect(got.map(([topic]) => topic)).toEqual([
      `cmd-report/${gateway}/d/a/b`,
      `cmd-report/${gateway}/d`,
      'answers/1',
      `cmd-report/${gateway}/d/w`
    ]);
    expect(got[0][1]).toEqual(body);
    expect(String(got[2][2].correlationData)).toBe('k');
    await until(() => session.view().reports === 4);
  });

  test('does not take a report to a topic of commands for a command', async () => {
    const session = start();
    await connected(session);
    session.session.report({ device: 'd', rest: '', responseTopic: `cmd/${gateway}/d/x`, body: {} });
    await until(() => session.view().reports === 1);
    await say(`cmd/${gateway}/d/y`);
    await until(() => session.got.length === 1);
    expect(session.got[0].rest).toBe('y');
  });

  test.each([4, 5])(
    'with MQTT %i, each command of a group arrives at one of its gateways',
    async (protocolVersion) => {
      const group = `group-${protocolVersion}`;
      const [one, two] = ['-1', '-2'].map((tail) =>
        start({ protocolVersion, commandGroup: group, clientId: gateway + tail })
      );
      for (const each of [one, two]) await until(() => each.view().state === 'connected');
      await until(() => count(`Sending SUBACK to ${gateway}-`) === 2);
      for (let i = 0; i < 20; i++) await say(`cmd/${group}/d/${i}`);
      await until(() => one.got.length + two.got.length === 20);
      expect(new Set([...one.got, ...two.got].map(({ rest }) => rest)).size).toBe(20);
      // A report to a topic of commands would come back as one.
      const got = await reports(`cmd-report/${group}/#`);
      one.session.report({ device: 'd', rest: 'r', responseTopic: `cmd/${group}/d/x`, body: {} });
      await until(() => got.length === 1);
      expect(got[0][0]).toBe(`cmd-report/${group}/d/r`);
      expect(one.got.length + two.got.length).toBe(20);
    }
  );

  test('sends reports of an outage when it is over', async () => {
    const session = start({ protocolVersion: 4, commandPrefix: 'site/cmd' });
    await until(() => session.view().state === 'connected');
    await broker.kill();
    await until(() => session.view().state !== 'connected');
    for (let i = 0; i < 100; i++) session.session.report({ device: 'd', rest: String(i), body: { status: 'taken' } }); // prettier-ignore
    await broker.start();
    await until(() => session.view().reports === 100);
    const topics = broker.received(`${gateway}-cmd`).map(({ topic }) => topic);
    expect(topics.slice(0, 2)).toEqual([`site/cmd-report/${gateway}/d/0`, `site/cmd-report/${gateway}/d/1`]);
    expect(new Set(topics).size).toBe(100);
  });

  test('loses no report while its session is renewed, and publishes none twice', async () => {
    const session = start({});
    await connected(session);
    const device = (i) => ({ device: 'd', rest: String(i), body: { status: 'taken' } });
    for (let i = 0; i < 1000; i++) session.session.report(device(i));
    session.session.session.renew({ code: 'TEST', reason: 'Renewed.', refused: false });
    for (let i = 1000; i < 1010; i++) session.session.report(device(i));
    await until(() => session.view().reports >= 1010);
    expect(session.view()).toMatchObject({ reportsDropped: 0, reportsWaiting: 0 });
    const topics = broker.received(`${gateway}-cmd`).map(({ topic }) => topic);
    expect(new Set(topics).size).toBe(1010);
    expect(topics).toHaveLength(1010);
  });

  test('sends the last reports before the orderly end', async () => {
    const session = startThread();
    await connected(session);
    for (let i = 0; i < 50; i++) session.bench.thread.report({ device: 'd', rest: String(i), body: {} });
    expect(await session.bench.stop(5000)).toBe(true);
    expect(broker.received(`${gateway}-cmd`)).toHaveLength(50);
  });

  test('handles a burst of a thousand commands with answers in any order', async () => {
    const onCommand = ({ ack }) => setTimeout(() => session.answer(ack), Math.random() * 5);
    const session = start({ onCommand });
    await connected(session);
    await Promise.all(Array.from({ length: 1000 }, (_, i) => say(`cmd/${gateway}/d${i % 100}/n`, String(i))));
    await until(() => pubacks().length === 1000);
    expect(session.got.map(({ payload }) => Number(payload))).toEqual(Array.from({ length: 1000 }, (_, i) => i)); // prettier-ignore
  });

  test('does not exist without commands', async () => {
    const session = startThread({ commands: false });
    await until(() => session.bench.state === 'connected');
    expect(session.view()).toEqual({});
    expect(count(`${gateway}-cmd`)).toBe(0);
  });
});

describe('a difficult broker', () => {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  /** @param {object} manners @param {object} [options] */
  async function startAt(manners, options) {
    const scripted = await ScriptedBroker.start(manners);
    cleanups.push(() => scripted.close());
    return start({ url: scripted.url, gateway: 'gw1', ...options });
  }

  test.each([
    [4, 128],
    [5, 135]
  ])(
    'is refused with a remedy when it forbids the subscription (MQTT %i)',
    async (protocolVersion, suback) => {
      const session = await startAt({ suback }, { protocolVersion });
      await until(() => session.view().state === 'refused');
      expect(session.view()).toMatchObject({
        code: `SUBACK ${suback}`,
        reason: expect.stringMatching(
          /^The broker does not allow gw1-cmd to subscribe to cmd\/gw1\/\+\/#\. Grant it that right, or turn commands off.* Retrying in \d+ s\.$/
        )
      });
    }
  );

  test('is reported when it grants QoS 0 alone', async () => {
    const session = await startAt({ suback: 0 });
    await until(() => session.problems.length > 0);
    expect(session.problems).toEqual(['COMMANDS_QOS']);
  });

  test('has its refusals of reports counted', async () => {
    const session = await startAt({ puback: () => 0x87 });
    await until(() => session.view().state === 'connected');
    session.session.report({ device: 'd', rest: '', body: {} });
    await until(() => session.view().reportsDropped === 1);
  });

  test('gets a new connection and the report again when it acknowledges no report', async () => {
    const session = await startAt({ puback: () => -1 }, { ackTimeoutMs: 300 });
    await until(() => session.view().state === 'connected');
    session.session.report({ device: 'd', rest: '', body: {} });
    await until(() => {
      session.session.checkHealth();
      return session.states.includes('ACK_TIMEOUT');
    });
  });

  test('gets no report larger than its packet limit', async () => {
    const session = await startAt({ granted: { maximumPacketSize: 100 } });
    await until(() => session.view().state === 'connected');
    session.session.report({ device: 'd', rest: 'x'.repeat(100), body: {} });
    session.session.report({ device: 'd', rest: '', body: {} });
    await until(() => session.view().reports === 1);
    expect(session.view().reportsDropped).toBe(1);
  });
});
