'use strict';

// A link that silently swallows packets: the time until the uplink notices and reports it.

const path = require('node:path');
const { until } = require('../../../bench/harness/broker');
const { lockInterfaces } = require('../../fixtures/network/interfaces-lock');
const { Namespace } = require('../../fixtures/network/namespace');
const { UplinkBench } = require('../../fixtures/uplink/uplink-bench');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

// Creating a network needs root.
const { test } = needs('ip', ...(process.getuid?.() === 0 ? [] : ['root']));

jest.setTimeout(60000);

/** @type {() => void} */
let unlock = () => {};
beforeAll(async () => (unlock = await lockInterfaces()), 150000);
afterAll(() => unlock());

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options) {
  const network = new Namespace();
  cleanups.push(() => network.remove());
  const child = path.join(__dirname, '../../fixtures/uplink/scripted-broker-child.js');
  await network.run(process.execPath, [child, network.there, '1883']);
  const bench = new UplinkBench({
    url: `mqtt://${network.there}:1883`,
    connectTimeoutMs: 2000,
    reconnectMaxMs: 500,
    ...options
  });
  cleanups.push(() => bench.stop(0));
  await until(() => bench.state === 'connected');
  return { network, bench };
}

/** Seconds since the link died at which each state came. */
async function timesOf(bench, since, ...states) {
  const times = {};
  const note = ({ state }) => (times[state] ??= (Date.now() - since) / 1000);
  bench.thread.on('state', note);
  await until(() => states.every((state) => times[state] !== undefined), 40000, `${states} in time`);
  return times;
}

test('reports a stall within 7 s with records to send, and TCP gives the connection up after userTimeoutMs', async () => {
  const { network, bench } = await start({ userTimeoutMs: 8000, ackTimeoutMs: 30000, keepalive: 0 });
  bench.engine.push({ topic: 'before' });
  await until(() => bench.engine.held.size === 0);
  network.swallow();
  const since = Date.now();
  const timer = setInterval(() => bench.engine.push({ topic: 'lost' }), 100);
  cleanups.push(() => clearInterval(timer));
  const times = await timesOf(bench, since, 'stalled', 'disconnected');
  clearInterval(timer);
  process.stdout.write(
    `blackhole: stalled after ${times.stalled} s, given up by TCP after ${times.disconnected} s\n`
  );
  expect(times.stalled).toBeLessThan(7 * PATIENCE);
  expect(times.disconnected).toBeLessThan(14 * PATIENCE);
  expect(bench.states.find(({ state }) => state === 'disconnected')).toMatchObject({
    code: 'ETIMEDOUT',
    reason: expect.stringMatching(/is dead: no data arrives/)
  });
  expect(bench.engine.ups.slice(-1)).toEqual([false]);
  network.heal();
  await until(() => bench.engine.held.size === 0, 20000);
  await until(() => bench.state === 'connected');
});

test('gives the connection up by missing acknowledgements with the time-out of the system', async () => {
  const { network, bench } = await start({ userTimeoutMs: 0, ackTimeoutMs: 6000, keepalive: 0 });
  network.swallow();
  const since = Date.now();
  bench.engine.push({ topic: 'lost' });
  const times = await timesOf(bench, since, 'stalled', 'disconnected');
  process.stdout.write(
    `blackhole: stalled after ${times.stalled} s, given up by the uplink after ${times.disconnected} s\n`
  );
  expect(times.disconnected).toBeLessThan(8 * PATIENCE);
  expect(bench.states.find(({ state }) => state === 'disconnected').code).toBe('ACK_TIMEOUT');
});

test('finds it by TCP keep-alive within 20 s with nothing to send', async () => {
  const { network, bench } = await start({ keepalive: 0 });
  network.swallow();
  const times = await timesOf(bench, Date.now(), 'disconnected');
  process.stdout.write(`blackhole: an idle connection is given up after ${times.disconnected} s\n`);
  expect(times.disconnected).toBeLessThan(22 * PATIENCE);
});
