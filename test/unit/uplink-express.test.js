'use strict';

// The express path: the real engine and the real thread, a broker that does as it is told. What held with the feeder alone holds.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Flag } = require('../../native');
const { Authority } = require('../fixtures/authority');
const { Broker, until } = require('../fixtures/broker');
const { ExpressBench, stage } = require('../fixtures/express-bench');
const { ScriptedBroker } = require('../fixtures/scripted-broker');
const { StoreThread } = require('../../nodes/lib/store');
const { needs } = require('../tools');

const { test: withOpenssl } = needs('openssl');
const { test: withMosquitto } = needs('mosquitto');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start({ manners = {}, tls = undefined, options = {}, more = {} } = {}) {
  const broker = await ScriptedBroker.start(manners, tls);
  cleanups.push(() => broker.close());
  const bench = new ExpressBench({ url: broker.url, ...options }, more);
  cleanups.push(() => bench.stop(0));
  return { broker, bench };
}

async function startAboard(parts) {
  const both = await start(parts);
  await until(() => both.bench.isAboard, 10000, 'the express path is boarded');
  return both;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const delivered = (bench) => until(() => bench.held === 0, 20000, 'all is delivered');
/** Numbers of a class in the order of their first arrival. */
const firsts = (broker, cls) =>
  broker.topics.filter((topic) => topic.startsWith(`c/${cls}/`)).map((topic) => Number(topic.split('/')[2]));
const rising = (numbers) => [...numbers].sort((a, b) => a - b);
const dups = (broker) => broker.received.filter(({ dup }) => dup).map(({ topic }) => topic);

test('it boards when nothing is on the way, and what it sends is counted', async () => {
  const { broker, bench } = await startAboard();
  for (let i = 0; i < 200; i++) {
    bench.push(3);
    if (i % 10 === 0) await pause(1);
  }
  await delivered(bench);
  expect(firsts(broker, 3)).toEqual(bench.delivered.map((_, i) => i + 1));
  expect(broker.received).toHaveLength(200);
  await until(() => bench.last.acknowledged === 200);
  expect(bench.last).toMatchObject({ published: 200, redelivered: 0, inflight: 0, state: 'connected' });
  expect(bench.last.rttMs).toBeGreaterThan(0);
  expect(bench.isAboard).toBe(true);
});

test('it boards again under a load that never pauses', async () => {
  const { broker, bench } = await start();
  const timer = setInterval(() => bench.push(3), 1);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.isAboard);
  bench.setStages({ topic: 'other/{class}' });
  await pause(50);
  await until(() => bench.isAboard);
  clearInterval(timer);
  await delivered(bench);
  expect(dups(broker)).toEqual([]);
  expect(firsts(broker, 3)).toEqual(rising(firsts(broker, 3)));
});

test.each([4, 5])('MQTT version %i: its packets are those of the feeder', async (protocolVersion) => {
  const seen = [];
  for (const nativePath of [undefined, require.resolve('../fixtures/native-without-wire')]) {
    const { broker, bench } = await start({
      options: { protocolVersion, ...(nativePath && { nativePath }) }
    });
    await until(() => bench.last?.state === 'connected');
    if (!nativePath) await until(() => bench.isAboard);
    for (let i = 1; i <= 8; i++) bench.push(i, `payload ${i}`, i % 2 ? Flag.RETAIN : 0);
    await delivered(bench);
    for (const payload of ['{"v":1}', '{}', '{ }', '']) bench.push(2, payload, Flag.ENVELOPE);
    await delivered(bench);
    bench.batch(stage.ingest);
    await until(() => broker.received.length === 13);
    expect(bench.isAboard).toBe(!nativePath);
    seen.push(
      broker.received.map(({ topic, payload, retain, qos, dup, properties }) => ({
        ...{ topic, retain, qos, dup, properties: JSON.stringify(properties ?? {}) },
        payload: payload.toString()
      }))
    );
  }
  // The run's number, and the time of a line.
  const plain = (packets) =>
    packets
      .map((packet) =>
        JSON.stringify(packet)
          .replace(/gw1\/[a-z0-9]+\//g, 'gw1/RUN/')
          .replace(/\d{13}/g, 'TIME')
      )
      .sort();
  expect(plain(seen[0])).toEqual(plain(seen[1]));
  expect(JSON.stringify(seen[0])).toMatch(/gw1\/[a-z0-9]+\/\d/);
});

test.each([0x80, 0x97, 0x87])(
  'a refusal (%i) lands; the record is sent again, nothing is lost',
  async (code) => {
    let refusals = 0;
    const puback = ({ topic }) => (topic === 'c/3/5' && refusals++ === 0 ? code : 0);
    const { broker, bench } = await startAboard({ manners: { puback }, options: { retryMs: 20 } });
    for (let i = 0; i < 20; i++) bench.push(3);
    await delivered(bench);
    expect(bench.failed).toEqual([]);
    expect(broker.received.filter(({ topic }) => topic === 'c/3/5')).toHaveLength(2);
    expect(broker.received).toHaveLength(21);
    await until(() => bench.last.acknowledged === 20);
    expect(bench.last).toMatchObject({ published: 20, redelivered: 1, refusals: 1 });
    expect(bench.isAboard).toBe(false);
  }
);

test('a connection cut in the middle: what was in flight comes again as a duplicate, in order, before what is new', async () => {
  const manners = { puback: ({ topic }) => (Number(topic.split('/')[2]) > 10 ? -1 : 0) };
  const { broker, bench } = await startAboard({ manners, options: { inflight: 8 } });
  for (let i = 0; i < 30; i++) bench.push(3);
  // Two of the eight places are for class 1.
  await until(() => broker.received.length === 16);
  broker.manners = {};
  await broker.close();
  await broker.listen();
  await delivered(bench);
  expect(dups(broker)).toEqual([11, 12, 13, 14, 15, 16].map((n) => `c/3/${n}`));
  expect(broker.received.map(({ topic }) => topic).slice(16)).toEqual(
    Array.from({ length: 20 }, (_, i) => `c/3/${i + 11}`)
  );
  await until(() => bench.last.acknowledged === 30);
  expect(bench.last).toMatchObject({ published: 30, redelivered: 6, inflight: 0 });
  await until(() => bench.isAboard);
});

test('cut at any moment, over and over: nothing lost, first arrivals in order', async () => {
  const { broker, bench } = await start({ manners: { delayMs: 2 } });
  const timer = setInterval(() => [1, 3, 3, 4].forEach((cls) => bench.push(cls)), 1);
  cleanups.push(() => clearInterval(timer));
  for (let i = 0; i < 20; i++) {
    await pause(60 + ((i * 37) % 50));
    for (const socket of broker.sockets) i % 2 ? socket.destroy() : socket.resetAndDestroy();
  }
  clearInterval(timer);
  await delivered(bench);
  expect(bench.failed).toEqual([]);
  for (const cls of [1, 3, 4]) expect(firsts(broker, cls)).toEqual(rising(firsts(broker, cls)));
  expect(broker.topics).toHaveLength(bench.sent);
  await until(() => bench.last.acknowledged === bench.sent);
  expect(bench.last.published).toBe(bench.sent);
});

test('a broker that answers nothing: the time-out says so, and what was in flight comes again', async () => {
  const { broker, bench } = await startAboard({ options: { ackTimeoutMs: 500 } });
  broker.manners = { puback: () => -1 };
  for (let i = 0; i < 5; i++) bench.push(3);
  await until(() => bench.states.some(({ code }) => code === 'ACK_TIMEOUT'));
  broker.manners = {};
  await delivered(bench);
  expect(new Set(dups(broker)).size).toBe(5);
  expect(broker.topics).toHaveLength(5);
});

test('a record larger than the Maximum Packet Size lands, and is given up alone', async () => {
  const { broker, bench } = await startAboard({ manners: { granted: { maximumPacketSize: 300 } } });
  bench.push(3);
  const large = bench.push(3, 'x'.repeat(1000));
  bench.push(3);
  await delivered(bench);
  expect(bench.failed).toEqual([large]);
  expect(broker.received).toHaveLength(2);
  await until(() => bench.problems.some(({ code }) => code === 'PACKET_TOO_LARGE'));
  await until(() => bench.isAboard);
});

test('new stages while packets are in flight: they are acknowledged, not sent twice', async () => {
  const { broker, bench } = await startAboard({ manners: { delayMs: 50 } });
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 10);
  bench.setStages();
  await delivered(bench);
  expect(broker.received).toHaveLength(10);
  await until(() => bench.last.acknowledged === 10);
  await until(() => bench.isAboard);
});

test('drain and stop wait for what is in flight, and nothing comes twice', async () => {
  const { broker, bench } = await startAboard({ manners: { delayMs: 100 } });
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 10);
  expect(await bench.thread.drain(10)).toBe(false);
  expect(await bench.thread.drain(5000)).toBe(true);
  expect(bench.held).toBe(0);
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 20);
  expect(await bench.thread.stop(5000)).toBe(true);
  expect(bench.held).toBe(0);
  expect(broker.received).toHaveLength(20);
  expect(broker.goodbyes).toBe(1);
});

test('QoS 0 never boards; a batch of single records lands', async () => {
  const none = await start({ more: { stage: { qos: 0 } } });
  await until(() => none.bench.last?.state === 'connected');
  none.bench.push(3);
  await delivered(none.bench);
  await pause(1200);
  expect(none.bench.states.some(({ sessions }) => sessions.some(({ express }) => express))).toBe(false);
  const { broker, bench } = await startAboard();
  for (let i = 0; i < 3; i++) bench.batch(stage.singles);
  await until(() => broker.received.length === 3);
  await until(() => !bench.isAboard);
});

test('pings go on while it is aboard, with records and without', async () => {
  const { broker, bench } = await startAboard({ options: { keepalive: 1 } });
  await pause(2500);
  const timer = setInterval(() => bench.push(3), 100);
  await pause(2500);
  clearInterval(timer);
  await delivered(bench);
  expect(bench.isAboard).toBe(true);
  expect([broker.connections, dups(broker)]).toEqual([1, []]);
});

test('a window of two: one place is for class 1, whatever others wait for', async () => {
  const manners = { puback: ({ topic }) => (topic.startsWith('c/1/') ? 0 : -1) };
  const { broker, bench } = await startAboard({ manners, options: { inflight: 2 } });
  for (let i = 0; i < 5; i++) bench.push(3);
  await until(() => broker.received.length === 1);
  for (let i = 0; i < 5; i++) bench.push(1);
  await until(() => firsts(broker, 1).length === 5);
  expect(firsts(broker, 3)).toEqual([1]);
  expect(broker.mostInFlight).toBeLessThanOrEqual(2);
});

test('two sessions, each on its own', async () => {
  const puback = ({ topic }) => (topic.startsWith('c/3/') ? 0x97 : 0);
  const { broker, bench } = await startAboard({ options: { groups: '' } });
  for (let i = 0; i < 50; i++) [1, 2, 3, 5].forEach((cls) => bench.push(cls));
  await delivered(bench);
  expect(new Set(broker.topicsOf('gw1-1').map((topic) => topic[2]))).toEqual(new Set(['1', '2']));
  expect(new Set(broker.topicsOf('gw1-2').map((topic) => topic[2]))).toEqual(new Set(['3', '5']));
  broker.manners = { puback };
  bench.push(3);
  await until(() => bench.last.sessions[1].express === false);
  expect(bench.last.sessions[0].express).toBe(true);
  broker.manners = {};
  await delivered(bench);
});

withOpenssl('renewed certificates: aboard, drained, and aboard again; nothing comes twice', async () => {
  const authority = new Authority();
  cleanups.push(() => authority.remove());
  const good = authority.issue();
  const tls = { ...good, ca: authority.ca, requestCert: true };
  const own = authority.issue();
  const tlsFiles = { ca: authority.caFile, cert: own.certFile, key: own.keyFile };
  const { broker, bench } = await startAboard({ tls, options: { tlsFiles } });
  const timer = setInterval(() => bench.push(3), 5);
  cleanups.push(() => clearInterval(timer));
  const next = authority.issue();
  fs.copyFileSync(next.keyFile, own.keyFile);
  fs.copyFileSync(next.certFile, own.certFile);
  await until(() => broker.connections === 2, 15000);
  await until(() => bench.isAboard);
  clearInterval(timer);
  await delivered(bench);
  expect(dups(broker)).toEqual([]);
  expect(broker.goodbyes).toBe(1);
});

test('a broker that closes on a packet that is too large and tells no limit: the record is found, all others go', async () => {
  const { broker, bench } = await startAboard({
    manners: { closeAbove: 2000 },
    options: { protocolVersion: 4 }
  });
  for (let i = 0; i < 5; i++) bench.push(3);
  const large = bench.push(3, 'x'.repeat(3000));
  const timer = setInterval(() => bench.push(4), 20);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.held >= 0 && bench.failed.length > 0, 40000, 'the dead letter');
  clearInterval(timer);
  await delivered(bench);
  expect(bench.failed).toEqual([large]);
  expect(broker.topics).toHaveLength(bench.sent - 1);
});

test('an outage that went to the log: it lands for the backlog, sends that too, and boards again', async () => {
  const engine = { log: true, memoryMiB: 8 };
  const { broker, bench } = await startAboard({ more: { engine } });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-express-'));
  const store = new StoreThread({ directory: folder });
  cleanups.push(async () => {
    await bench.stop(0);
    await store.stop(1000);
    fs.rmSync(folder, { recursive: true });
  });
  store.attach(bench.engine.token);
  await broker.close();
  await until(() => bench.last.state !== 'connected');
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 100; j++) bench.push(3, 'x'.repeat(1000));
    await pause(5);
  }
  await until(() => store.state.chunks > 0);
  await broker.listen();
  await until(() => bench.isAboard && bench.held === 0, 30000);
  expect(broker.topics).toHaveLength(bench.sent);
  expect(bench.failed).toEqual([]);
});

withMosquitto(
  'a real broker over TLS 1.3, killed in the middle: nothing lost, first deliveries in order',
  async () => {
    const broker = await Broker.start();
    cleanups.push(() => broker.remove());
    const bench = new ExpressBench({ url: broker.url, tls: { ca: broker.ca } });
    cleanups.push(() => bench.stop(0));
    const timer = setInterval(() => [1, 3, 4].forEach((cls) => bench.push(cls)), 2);
    cleanups.push(() => clearInterval(timer));
    for (let round = 0; round < 2; round++) {
      await until(() => bench.isAboard, 15000);
      await pause(200);
      await broker.kill();
      await broker.start();
    }
    clearInterval(timer);
    await delivered(bench);
    const topics = [...new Set(broker.received('gw1').map(({ topic }) => topic))];
    expect(topics).toHaveLength(bench.sent);
    for (const cls of [1, 3, 4]) {
      const numbers = topics
        .filter((topic) => topic.startsWith(`c/${cls}/`))
        .map((topic) => Number(topic.slice(4)));
      expect(numbers).toEqual(rising(numbers));
    }
  }
);
