'use strict';

// The real engine and the real thread against brokers that close the connection on a record: mosquitto, which rejects
// some topics that MQTT allows, and a test broker that imitates others.

const { Broker, until } = require('../../../bench/harness/broker');
const { ExpressBench, stage } = require('../../fixtures/uplink/express-bench');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(90000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {object} options of UplinkThread */
function connect(options) {
  const engine = { oddTopics: 'accept' };
  const bench = new ExpressBench({ reconnectMaxMs: 100, retryMs: 100, ...options }, { engine });
  cleanups.push(() => bench.stop(0));
  return bench;
}

/** Adds a record with its own topic, alone or in a batch of records. */
function push(bench, topic, to) {
  bench.engine.push(to, 'pump', topic, Buffer.from('{"v":1}'), 3, 0, 0, -1, 0);
}

/** Adds good records all the time. Returns their number. */
function keepPushing(bench) {
  const timer = setInterval(() => bench.push(3), 10);
  cleanups.push(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return bench.sent;
  };
}

const isDead = (bench) => until(() => bench.last?.deadLetters > 0, 60000, 'a dead letter');
const isDelivered = (bench) => until(() => bench.held === 0, 20000, 'all is delivered');

async function expectIsolated(bench, topic, to, code = /^UNWANTED$/) {
  const stopPushing = keepPushing(bench);
  await until(() => bench.isActive, 10000, 'the express path is entered');
  push(bench, topic, to);
  await isDead(bench);
  stopPushing();
  await isDelivered(bench);
  expect(bench.failed).toEqual([]);
  expect(bench.last).toMatchObject({ deadLetters: 1, failed: 1 });
  const reported = () => bench.problems.find((problem) => code.test(problem.code));
  await until(reported, 5000, 'the problem');
  const { reason } = reported();
  if (reported().code === 'UNWANTED')
    expect(reason).toMatch(
      /closes the connection when a record from the device "pump" \(topic ".*", \d+ bytes\)/
    );
}

const versions = [4, 5];
const places = /** @type {[string, number][]} */ ([
  ['off', stage.uplink],
  ['records', stage.singles]
]);

describe.each(versions)('MQTT version %i', (protocolVersion) => {
  describe.each(places)('mode %s', (_, to) => {
    const closers = protocolVersion === 5 ? [0, 0x80, 0x81, 0x82, 0x90] : [0];
    test.each(closers)(
      'buries one record when a broker closes on one topic (reason %i), and the others arrive',
      async (code) => {
        const broker = await ScriptedBroker.start({ close: ({ topic }) => (topic === 'bad' ? code : -1) });
        cleanups.push(() => broker.close());
        const bench = connect({ url: broker.url, protocolVersion });
        await expectIsolated(bench, 'bad', to);
        expect(broker.connections).toBeLessThanOrEqual(10);
      }
    );

    const { test: mosquittoTest } = needs('mosquitto');
    // With MQTT 3.1.1 it acknowledges the last two, and drops them; with MQTT 5 it may answer with a PUBACK that
    // refuses them.
    const topics = ['a\u0001b', 'a\ufffeb', ...(protocolVersion === 5 ? ['$SYS/x', '$share/g/x'] : [])];
    mosquittoTest.each(topics)(
      'buries one record with the topic %j, which mosquitto rejects, and the others arrive',
      async (topic) => {
        const broker = await Broker.start();
        cleanups.push(() => broker.remove());
        const bench = connect({ url: broker.plainUrl, protocolVersion });
        await expectIsolated(bench, topic, to, /^UNWANTED$|^PUBACK_/);
      }
    );
  });
});

test('buries one record when a broker closes on a record behind others, and acknowledges none of them', async () => {
  const broker = await ScriptedBroker.start({ delayMs: 5, close: ({ topic }) => (topic === 'bad' ? 0 : -1) });
  cleanups.push(() => broker.close());
  const bench = connect({ url: broker.url });
  await expectIsolated(bench, 'bad', stage.uplink);
});

test('gives up further records of the topic without another connection', async () => {
  const broker = await ScriptedBroker.start({ close: ({ topic }) => (topic === 'bad' ? 0x90 : -1) });
  cleanups.push(() => broker.close());
  const bench = connect({ url: broker.url });
  await expectIsolated(bench, 'bad', stage.uplink);
  keepPushing(bench);
  push(bench, 'bad', stage.uplink);
  await until(() => bench.last.deadLetters === 2 && bench.last.state === 'connected', 20000);
  const { connections } = broker;
  for (let i = 0; i < 20; i++) push(bench, 'bad', stage.uplink);
  await until(() => bench.last.deadLetters === 22, 20000);
  expect(broker.connections).toBe(connections);
});

test('gives up no record when another client takes the session over, and names the client id', async () => {
  let taken = 0;
  const broker = await ScriptedBroker.start({ close: () => (++taken <= 10 ? 0x8e : -1) });
  cleanups.push(() => broker.close());
  const bench = connect({ url: broker.url, clientId: 'twice' });
  bench.push(3);
  await isDelivered(bench);
  const reported = () => bench.problems.find(({ code }) => code === 'DISCONNECT 142');
  await until(reported, 5000);
  expect(reported().reason).toMatch(/Another client.*same client id.*"twice"/);
  expect(bench.problems.some(({ code }) => code === 'SUSPECT')).toBe(false);
});

test('counts and reports records without a subscriber, on the express path too', async () => {
  const broker = await ScriptedBroker.start({ puback: () => 0x10 });
  cleanups.push(() => broker.close());
  const bench = connect({ url: broker.url });
  await until(() => bench.isActive, 10000);
  for (let i = 0; i < 20; i++) bench.push(3);
  await isDelivered(bench);
  await until(() => bench.last.unmatched === 20, 5000);
  await until(() => bench.problems.some(({ code }) => code === 'PUBACK_16'), 5000);
});

test('makes no dead letter on a network that flaps', async () => {
  const broker = await ScriptedBroker.start({ delayMs: 20 });
  cleanups.push(() => broker.close());
  const bench = connect({ url: broker.url });
  const stopPushing = keepPushing(bench);
  const started = Date.now();
  const flaps = setInterval(() => broker.sockets.forEach((socket) => socket.resetAndDestroy()), 150);
  cleanups.push(() => clearInterval(flaps));
  await until(() => Date.now() - started > 10000, 20000, 'ten seconds');
  clearInterval(flaps);
  stopPushing();
  await isDelivered(bench);
  expect(broker.connections).toBeGreaterThan(20);
  expect(bench.failed).toEqual([]);
  expect(bench.last.deadLetters).toBe(0);
});
