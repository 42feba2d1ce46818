'use strict';

// The uplink thread against brokers that limit, refuse, hang and forget: real sockets, a scripted broker, and mosquitto
// where possible.

const mqtt = require('mqtt');
const { Broker, until } = require('../../../bench/harness/broker');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { Load, UplinkBench, firstArrivals } = require('../../fixtures/uplink/uplink-bench');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(manners, options = {}) {
  const broker = await ScriptedBroker.start(manners);
  cleanups.push(() => broker.close());
  const bench = new UplinkBench({ url: broker.url, ...options });
  cleanups.push(() => bench.stop(0));
  return { broker, bench };
}

const delivered = (bench) => until(() => bench.engine.held.size === 0, 20000);
const stateOf = (bench, state) => bench.states.find((one) => one.state === state);

test('keeps two in flight at most, one of them backlog, with a Receive Maximum of 2', async () => {
  const { broker, bench } = await start({ granted: { receiveMaximum: 2 }, delayMs: 2 });
  const load = new Load(bench.engine);
  for (let i = 0; i < 100; i++) load.add(1 + (i % 4));
  for (let i = 0; i < 20; i++) bench.engine.push({ topic: `old/${i}`, backlog: true });
  await delivered(bench);
  expect(broker.mostInFlight).toBe(2);
  expect(firstArrivals(broker.received)).toEqual(load.expected());
  expect(broker.topics.filter((topic) => topic.startsWith('old/'))).toHaveLength(20);
  expect(Math.max(...bench.states.map(({ backlogInflight }) => backlogInflight))).toBeLessThanOrEqual(1);
});

test('sends envelopes in pieces with a Maximum Packet Size of 1,000, buries a record above it, and sends the rest', async () => {
  const { broker, bench } = await start({ granted: { maximumPacketSize: 1000 } });
  const lines = Array.from({ length: 300 }, (_, i) => `{"d":${i}}\n`);
  bench.engine.push(
    { kind: 1, payload: lines.join('') },
    { topic: 'large', payload: 'x'.repeat(1500) },
    { topic: 'after', payload: 'x' }
  );
  await delivered(bench);
  expect(bench.engine.refused).toEqual([
    { key: 2, refused: [0], code: 149, reason: expect.stringMatching(/broker accepts 1000/) }
  ]);
  const parts = broker.received.filter(({ topic }) => topic === 'gw/gw1/normal');
  expect(parts.length).toBeGreaterThan(1);
  const read = parts.flatMap(({ payload }) => payload.toString().trimEnd().split('\n').map((line) => JSON.parse(line))); // prettier-ignore
  expect(read.map(({ d }) => d)).toEqual(Array.from({ length: 300 }, (_, i) => i));
  expect(parts.map(({ properties }) => properties.userProperties['seganet-key'])).toEqual(
    read.filter(({ k }) => k).map(({ k }) => k)
  );
  await until(() => bench.problems.some(({ code }) => code === 'PACKET_TOO_LARGE'));
  await until(() => bench.states.at(-1).deadLetters === 1);
});

test('buries a large packet when a broker of MQTT 3.1.1 closes the connection on it, and sends others', async () => {
  const { broker, bench } = await start({ closeAbove: 5000 }, { protocolVersion: 4, reconnectMaxMs: 200 });
  const load = new Load(bench.engine);
  const timer = setInterval(() => load.add(3), 20);
  cleanups.push(() => clearInterval(timer));
  bench.engine.push({ topic: 'large', payload: 'x'.repeat(20000) });
  await until(() => bench.engine.refused.length > 0, 30000);
  clearInterval(timer);
  await delivered(bench);
  expect(bench.engine.refused).toEqual([
    { key: 1, refused: [0], code: 149, reason: expect.stringMatching(/closes the connection because of it/) }
  ]);
  expect(broker.connections).toBeLessThanOrEqual(7);
  expect(firstArrivals(broker.received)).toEqual(load.expected());
});

test.each([
  [0x88, /unavailable/],
  [0x89, /busy/],
  [0x97, /quota/],
  [0x9f, /no more connections at this rate/]
])('retries with back-off after CONNACK %i until it passes', async (connack, sentence) => {
  const { broker, bench } = await start({ connack });
  bench.engine.push({ topic: 'waits' });
  await until(() => broker.connections >= 3);
  expect(stateOf(bench, 'disconnected').reason).toMatch(sentence);
  expect(stateOf(bench, 'refused')).toBe(undefined);
  broker.manners = {};
  await delivered(bench);
});

test.each([
  [5, 0x86, /user name or password/],
  [5, 0x87, /does not allow this client/],
  [4, 4, /user name or password/],
  [4, 5, /does not allow this client/]
])(
  'shows red after MQTT version %i, CONNACK %i, with the time of the next attempt',
  async (protocolVersion, connack, sentence) => {
    const { broker, bench } = await start({ connack }, { protocolVersion, refusedMinMs: 1500 });
    bench.engine.push({ topic: 'waits' });
    await until(() => bench.state === 'refused');
    expect(bench.states.at(-1).reason).toMatch(sentence);
    expect(bench.states.at(-1).reason).toMatch(/Retrying in [12] s\.$/);
    const refusedAt = Date.now();
    broker.manners = {};
    await delivered(bench);
    expect(broker.connections).toBe(2);
    expect(Date.now() - refusedAt).toBeGreaterThan(600);
  }
);

test.each([
  [0x9c, /use another server.*The broker names other\.example\.com:1883 x\./],
  [0x9d, /has moved.*The broker names other\.example\.com:1883 x\..*Retrying in/]
])('reports, but does not follow, another server after CONNACK %i', async (connack, sentence) => {
  const { bench } = await start({ connack, granted: { serverReference: 'other.example.com:1883\nx' } });
  await until(() => bench.state === 'refused');
  expect(bench.states.at(-1).reason).toMatch(sentence);
});

test('reports the connect time-out without CONNACK, and retries', async () => {
  const { broker, bench } = await start({ connack: -1 }, { connectTimeoutMs: 300 });
  await until(() => broker.connections >= 2);
  expect(stateOf(bench, 'disconnected')).toMatchObject({ code: 'NO_CONNACK' });
  broker.manners = {};
  await until(() => bench.state === 'connected');
});

test('keeps records at PUBACK quota exceeded, sends less and less, shows it, and delivers when it passes', async () => {
  const { broker, bench } = await start({ puback: () => 0x97 });
  const load = new Load(bench.engine);
  for (let i = 0; i < 50; i++) load.add(3);
  await until(() => bench.states.at(-1)?.quotaWait > 0);
  expect(bench.states.at(-1)).toMatchObject({
    code: 'PUBACK_151',
    reason: expect.stringMatching(/quota exceeded/)
  });
  await until(() => bench.state === 'stalled', 15000);
  expect(bench.engine.ups.at(-1)).toBe(false);
  // 32 places at most at first, then one packet alone after 1, 3 and 7 s.
  expect(broker.received.length).toBeLessThanOrEqual(32 + 3);
  expect(bench.engine.refused).toEqual([]);
  broker.manners = {};
  await delivered(bench);
  await until(() => bench.state === 'connected' && bench.states.at(-1).quotaWait === 0);
  expect(bench.engine.ups.at(-1)).toBe(true);
  // The number of first packets sent before the first refusal varies; two more were sent before the stall.
  expect(bench.states.at(-1).refusals).toBeGreaterThanOrEqual(3);
});

test.each([0x87, 0x90, 0x99])(
  'buries a record after PUBACK %i five times; the others keep their order',
  async (code) => {
    const { broker, bench } = await start(
      { puback: ({ topic }) => (topic === 'bad' ? code : 0) },
      { retryMs: 20 }
    );
    const load = new Load(bench.engine);
    load.add(3, 5);
    bench.engine.push({ class: 3, topic: 'bad' });
    load.add(3, 5);
    load.add(1);
    await delivered(bench);
    expect(bench.engine.refused).toEqual([expect.objectContaining({ refused: [0], code })]);
    expect(broker.received.filter(({ topic }) => topic === 'bad')).toHaveLength(5);
    expect(firstArrivals(broker.received)).toEqual(load.expected());
  }
);

test('stalls on a broker that answers nothing, closes and sends again, and stays stalled until it answers', async () => {
  const { broker, bench } = await start({ puback: () => -1 }, { ackTimeoutMs: 6500 });
  bench.engine.push({ topic: 'a' });
  await until(() => bench.state === 'stalled');
  expect(bench.states.at(-1)).toMatchObject({ code: 'STALLED', inflight: 1 });
  await until(() => stateOf(bench, 'disconnected'));
  expect(stateOf(bench, 'disconnected')).toMatchObject({
    code: 'ACK_TIMEOUT',
    reason: expect.stringMatching(/for 7 s/)
  });
  await until(() => broker.received.length === 2);
  expect(bench.engine.ups).toEqual([false, true, false]);
  broker.manners = {};
  for (const socket of broker.sockets) socket.destroy();
  await delivered(bench);
  await until(() => bench.state === 'connected');
  expect(broker.received.map(({ dup }) => dup)).toEqual([false, true, true]);
  await until(() => bench.engine.ups.at(-1) === true);
});

test('renews the connection when one packet is skipped while later ones are acknowledged, and sends it again', async () => {
  let left = 0;
  const { broker, bench } = await start(
    { puback: ({ topic }) => (topic === 'left' && left++ === 0 ? -1 : 0) },
    { ackTimeoutMs: 1000 }
  );
  bench.engine.push({ topic: 'left' });
  const load = new Load(bench.engine);
  const timer = setInterval(() => load.add(3), 20);
  cleanups.push(() => clearInterval(timer));
  await until(() => left === 2);
  clearInterval(timer);
  await delivered(bench);
  expect(broker.connections).toBe(2);
  expect(stateOf(bench, 'disconnected').code).toBe('ACK_TIMEOUT');
  expect(stateOf(bench, 'stalled')).toBe(undefined);
});

test('lets live records overtake a backlog that is limited to 100 records/s', async () => {
  const { broker, bench } = await start({}, { backlogRate: 100 });
  for (let i = 0; i < 300; i++) bench.engine.push({ topic: `old/${i}`, backlog: true });
  await until(() => broker.received.length > 10);
  bench.engine.push({ class: 4, topic: 'live' });
  await delivered(bench);
  expect(broker.topics.indexOf('live')).toBeLessThan(250);
  const marks = broker.received.map(({ topic, properties }) => [
    topic,
    properties.userProperties['seganet-history']
  ]);
  expect(marks.every(([topic, mark]) => mark === (topic === 'live' ? undefined : '1'))).toBe(true);
});

const { test: withMosquitto } = needs('mosquitto');

withMosquitto(
  "sends pieces with keys and buries one record with mosquitto's max_packet_size and max_inflight_messages",
  async () => {
    const broker = await Broker.start({ config: 'max_packet_size 600\nmax_inflight_messages 2' });
    cleanups.push(() => broker.remove());
    const subscriber = await mqtt.connectAsync(broker.plainUrl, { protocolVersion: 5 });
    cleanups.push(() => subscriber.endAsync(true));
    const got = [];
    subscriber.on('message', (topic, payload, { properties }) =>
      got.push([topic, payload.toString(), properties])
    );
    await subscriber.subscribeAsync('#', { qos: 1 });
    const bench = new UplinkBench({ url: broker.url, tls: { ca: broker.ca } });
    cleanups.push(() => bench.stop(0));
    bench.engine.push(
      { kind: 1, payload: Array.from({ length: 60 }, (_, i) => `{"d":${i}}\n`).join('') },
      { topic: 'large', payload: 'x'.repeat(800) },
      { topic: 'old', backlog: true }
    );
    await delivered(bench);
    await until(() => got.some(([topic]) => topic === 'old'));
    expect(bench.engine.refused).toEqual([expect.objectContaining({ key: 2, code: 149 })]);
    expect(bench.history).toEqual(['connecting', 'connected']);
    const lines = got
      .filter(([topic]) => topic === 'gw/gw1/normal')
      .flatMap(([, text]) => text.trimEnd().split('\n'));
    expect(lines.map((line) => JSON.parse(line).d)).toEqual(Array.from({ length: 60 }, (_, i) => i));
    const [, , { userProperties }] = got.find(([topic]) => topic === 'old');
    expect({ ...userProperties }).toEqual({ 'seganet-key': 'gw1/1000/3/3', 'seganet-history': '1' });
  }
);

test('keeps a connection whose acknowledgements came while the thread stood still', async () => {
  const { broker, bench } = await start({ delayMs: 300 }, { ackTimeoutMs: 1500 });
  bench.engine.push({ topic: 'a', payload: 'x' });
  await until(() => broker.received.length === 1);
  bench.engine.block(2500);
  await delivered(bench);
  expect(broker.connections).toBe(1);
  expect(broker.received).toHaveLength(1);
});
