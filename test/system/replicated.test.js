'use strict';
// Acknowledge: replicated. A record on this machine's disk alone is not acknowledged, and the loss of the machine loses
// no acknowledged record.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually, freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { connectDevice, Receiver } = require('../fixtures/devices/device');

const { test } = needs('mosquitto');

jest.setTimeout(60000);

/** @type {{ stop(): Promise<any> }[]} */
const open = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

/** @param {Record<string, string>} [more] settings */
async function start(more = {}) {
  const cloud = await startCloud();
  open.push({ stop: () => cloud.close() });
  const editorPort = String(await freePort());
  const env = { SEGANET_ACKNOWLEDGE: 'replicated', SEGANET_EDITOR_PORT: editorPort, ...more };
  const gateway = await startGateway(cloud, { env });
  open.push(gateway);
  const device = await connectDevice(gateway, 'pump', { reconnectPeriod: 100 });
  open.push({ stop: () => device.endAsync(true) });
  const get = async (/** @type {string} */ page) => fetch(`http://127.0.0.1:${editorPort}/seganet/${page}`);
  const state = async () => (await (await get('readyz')).json()).checks.replicas.state;
  /** @type {number[]} */
  const acknowledged = [];
  const publish = (/** @type {number} */ value) =>
    device.publishAsync('d/pump/t', String(value), { qos: 1 }).then(
      () => void acknowledged.push(value),
      () => {} // the test ends before
    );
  return { cloud, gateway, get, state, acknowledged, publish };
}

/** Subscribes with a session that a restart of the cloud keeps. @param {import('../../bench/harness/cloud').Cloud} cloud */
async function receive({ plainPort }) {
  const options = { clientId: 'receiver', clean: false, reconnectPeriod: 200 };
  const receiver = new Receiver(await mqtt.connectAsync(`mqtt://127.0.0.1:${plainPort}`, options));
  open.push({ stop: () => receiver.close() });
  await receiver.client.subscribeAsync('gw/#', { qos: 1 });
  return receiver;
}

/** @param {Receiver} receiver */
const valuesOf = (receiver) => receiver.records().map(({ p }) => p);
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('nothing is acknowledged while the cloud is away, and all of it when it is back', async () => {
  const { cloud, get, state, acknowledged, publish } = await start();
  await publish(1);
  expect(acknowledged).toEqual([1]);
  await eventually(async () => (await state()) === 'replicated', { timeoutMs: 5000, what: 'replicated' });
  const receiver = await receive(cloud);
  await cloud.stop();
  for (const value of [2, 3, 4]) void publish(value);
  await eventually(async () => (await state()) === 'waiting', { timeoutMs: 5000, what: 'waiting' });
  // With "safe", the disk would have acknowledged them after 10 to 50 ms.
  await pause(2500);
  expect(acknowledged).toEqual([1]);
  expect((await get('readyz')).status).toBe(503);
  expect(await (await get('metrics')).text()).toMatch(/seganet_replicas_state\{[^}]*state="waiting"\} 1/);
  await cloud.start();
  await eventually(() => acknowledged.length === 4, { timeoutMs: 15000, what: 'the acknowledgements' });
  await eventually(() => valuesOf(receiver).length === 3, { timeoutMs: 5000, what: 'the records' });
  expect(valuesOf(receiver)).toEqual([2, 3, 4]);
  await eventually(async () => (await state()) === 'replicated', { timeoutMs: 5000, what: 'replicated' });
});

test('a gateway that stops in order while the cloud is away acknowledges nothing of what it keeps', async () => {
  const { cloud, gateway, acknowledged, publish } = await start();
  await publish(1);
  await cloud.stop();
  await pause(300);
  void publish(2);
  await pause(300);
  expect(await gateway.child.stop('SIGTERM', 20000)).toMatchObject({ code: 0 });
  expect(acknowledged).toEqual([1]);
});

test('degrade: the disk acknowledges after a while, says so, and stops when the cloud is back', async () => {
  const { cloud, gateway, get, state, acknowledged, publish } = await start({
    SEGANET_REPLICAS_MISSING: 'degrade',
    'seganet-engine.replicaTimeoutS': '2'
  });
  await publish(1);
  const receiver = await receive(cloud);
  await cloud.stop();
  const since = performance.now();
  await publish(2);
  // The cloud is missing for the time out before the disk counts. It is looked at once a second.
  expect(performance.now() - since).toBeGreaterThan(900);
  expect(acknowledged).toEqual([1, 2]);
  expect(await state()).toBe('degraded');
  expect((await (await get('readyz')).json()).checks.replicas.reason).toMatch(
    /from the disk of this machine alone/
  );
  const nodes = await (await get('engines/seganet-engine-1/stats')).json();
  expect(nodes.replicas).toMatchObject({ state: 'degraded' });
  expect(gateway.output).toMatch(/acknowledged from one disk alone, because .* is (dis|re)connect/);
  await cloud.start();
  await eventually(async () => (await state()) === 'replicated', { timeoutMs: 15000, what: 'replicated' });
  await publish(3);
  await eventually(() => valuesOf(receiver).length === 2, { timeoutMs: 5000, what: 'the records' });
  expect(valuesOf(receiver)).toEqual([2, 3]);
});
