'use strict';
// The short form of test/system/uplink-urls/run.js, and what one broker after another sees of the move.

const { Broker, until } = require('../../../bench/harness/broker');
const { needs } = require('../../../bench/harness/tools');
const { ExpressBench } = require('../../fixtures/uplink/express-bench');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { seeded } = require('../../fixtures/random');
const { runFailovers } = require('./scenario');
const { PATIENCE } = require('../../../bench/harness/patience');

const { test: withBrokers } = needs('mosquitto', 'openssl');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {ConstructorParameters<typeof ScriptedBroker>[0]} manners */
async function scripted(manners) {
  const broker = await ScriptedBroker.start(manners);
  cleanups.push(() => broker.close());
  return broker;
}

/** @param {{ url: string }[]} brokers @param {object} [options] */
function start(brokers, options) {
  const bench = new ExpressBench({ url: brokers.map(({ url }) => url).join(' , '), ...options });
  cleanups.push(() => bench.stop(0));
  return bench;
}

withBrokers('five fail-overs lose nothing and keep the order', async () => {
  const seed = Date.now() % 2 ** 31;
  const outcome = await runFailovers({ failovers: 5, random: seeded(seed) });
  expect({ seed, ...outcome }).toMatchObject({ seed, failovers: 5, lost: 0, unanswered: 0, disorder: 0 });
});

withBrokers('returns to the first URL with all sessions, without a copy of a record', async () => {
  const brokers = [await Broker.start(), await Broker.start()];
  for (const broker of brokers) cleanups.push(() => broker.remove());
  const [first, second] = brokers;
  const bench = start(
    brokers.map(({ plainUrl }) => ({ url: plainUrl })),
    { groups: '1,2/3,4', returnS: 1 }
  );
  await until(() => bench.last?.state === 'connected');
  await first.kill();
  await until(() => bench.last.url === 2 && bench.last.state === 'connected');
  const timer = setInterval(() => {
    bench.push(1);
    bench.push(3);
  }, 5);
  cleanups.push(() => clearInterval(timer));
  await first.start();
  await until(() => bench.last.url === 1 && bench.last.sessions.every(({ url }) => url === bench.last.urls[0].url), 20000); // prettier-ignore
  const { sent } = bench;
  await until(() => bench.sent > sent + 50);
  clearInterval(timer);
  await until(() => bench.held === 0);
  expect(bench.last).toMatchObject({ returns: 1, failovers: 1, moved: { isReturn: true } });
  for (const id of ['gw1-1', 'gw1-2']) {
    const numbers = [...second.received(id), ...first.received(id)].map(({ topic }) =>
      Number(topic.split('/')[2])
    );
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(first.received(id).length).toBeGreaterThan(0);
  }
  expect(first.readLog()).toContain('as gw1-probe');
});

test('sends what was in flight to another broker first, in order and without DUP', async () => {
  const a = await scripted({ puback: () => -1 });
  const b = await scripted({});
  const bench = start([a, b]);
  for (let i = 0; i < 20; i++) bench.push(3);
  await until(() => a.received.length === 20);
  await a.close();
  await until(() => b.received.length >= 20);
  bench.push(3);
  await until(() => bench.held === 0);
  expect(b.received.map(({ topic }) => topic)).toEqual(Array.from({ length: 21 }, (_, i) => `c/3/${i + 1}`));
  expect(b.received.filter(({ dup }) => dup)).toEqual([]);
});

test.each([
  ['shuts down', 0x8b, 2],
  ['sends clients to another server', 0x9c, 2],
  ['is busy', 0x89, 2],
  ['has another client with this id', 0x8e, 1],
  ['calls a packet too large', 0x95, 1]
])('a broker that %s (reason code %i): the uplink is at URL %i', async (_what, code, url) => {
  let isFirst = true;
  const a = await scripted({
    close() {
      const wasFirst = isFirst;
      isFirst = false;
      return wasFirst ? code : -1;
    }
  });
  const b = await scripted({});
  const bench = start([a, b], { protocolVersion: 5 });
  bench.push(3);
  await until(() => bench.held === 0);
  expect([a.connections, b.connections]).toEqual(url === 2 ? [1, 1] : [2, 0]);
  await until(() => bench.last.url === url);
});

test('has DUP for what goes to the same broker again', async () => {
  let isDeaf = true;
  const a = await scripted({ puback: () => (isDeaf ? -1 : 0) });
  const b = await scripted({});
  const bench = start([a, b], { protocolVersion: 5 });
  bench.push(3);
  await until(() => a.received.length === 1);
  isDeaf = false;
  a.manners.close = ({ topic }) => (topic === 'c/3/2' && a.connections === 1 ? 0x8e : -1);
  bench.push(3);
  await until(() => bench.held === 0);
  expect(a.received.filter(({ topic, dup }) => topic === 'c/3/1' && dup).length).toBe(1);
  expect([a.connections, b.connections]).toEqual([2, 0]);
});

test('follows the limits of the broker in use', async () => {
  const a = await scripted({ granted: { receiveMaximum: 10 } });
  const b = await scripted({ granted: { receiveMaximum: 3 }, delayMs: 20 });
  const bench = start([a, b], { protocolVersion: 5 });
  await until(() => bench.last?.state === 'connected');
  await a.close();
  await until(() => bench.last.url === 2 && bench.last.state === 'connected');
  for (let i = 0; i < 30; i++) bench.push(3);
  await until(() => bench.held === 0);
  expect(b.mostInFlight).toBeGreaterThan(1);
  expect(b.mostInFlight).toBeLessThanOrEqual(3);
});

test('shows why each URL fails when none works, and delivers when one does', async () => {
  const a = await scripted({ connack: 0x87 });
  const b = await scripted({});
  await b.close();
  const bench = start([a, b], { protocolVersion: 5 });
  bench.push(1);
  await until(() => bench.last?.urls.every(({ state }) => state === 'failed'));
  expect(bench.last.urls.map(({ code }) => code)).toEqual(['CONNACK 135', 'ECONNREFUSED']);
  expect(bench.last.reason).toMatch(/Trying localhost:\d+ (now|in \d+ s)\.$/);
  await b.listen();
  await until(() => bench.held === 0);
  expect(bench.last).toMatchObject({ url: 2, failovers: 1, moved: { code: 'CONNACK 135' } });
});

test('takes the session for commands along, with its subscription', async () => {
  const a = await scripted({});
  const b = await scripted({});
  start([a, b], { commands: true });
  await until(() => a.clientIds.includes('gw1-cmd') && a.clientIds.includes('gw1'));
  await a.close();
  await until(() => b.clientIds.includes('gw1-cmd'), 10000);
  expect(b.connects.find(({ clientId }) => clientId === 'gw1-cmd')).toMatchObject({ clean: false });
});

test('a deploy and an end in the middle of a move end in time', async () => {
  const a = await scripted({});
  const b = await scripted({ connack: -1 });
  const bench = start([a, b]);
  bench.push(3);
  await until(() => bench.held === 0);
  await a.close();
  bench.push(3);
  await until(() => b.connections > 0);
  const beganAt = performance.now();
  await bench.stop(100);
  expect(performance.now() - beganAt).toBeLessThan(3000 * PATIENCE);
  cleanups.pop();
});
