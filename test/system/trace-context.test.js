'use strict';
// W3C Trace Context from a device to the cloud: as user properties of MQTT 5, in the lines of an envelope, and through
// the log after a kill -9.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { connectDevice } = require('../fixtures/devices/device');

const { test } = needs('mosquitto');
jest.setTimeout(120000);

const TRACE = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'
};

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {import('../../bench/harness/cloud').Cloud} cloud @returns {Promise<{ topic: string, payload: string, properties: any }[]>} */
async function received(cloud) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, {
    clientId: `receiver-${Math.random().toString(16).slice(2)}`,
    protocolVersion: 5
  });
  cleanups.push(() => client.endAsync(true));
  /** @type {{ topic: string, payload: string, properties: any }[]} */
  const messages = [];
  client.on('message', (topic, payload, { properties }) => {
    messages.push({ topic, payload: payload.toString(), properties: { ...properties?.userProperties } });
  });
  await client.subscribeAsync(['d/#', 'gw/#'], { qos: 1 });
  return messages;
}

/** @param {{ url: string }} gateway @param {string} id */
async function connect(gateway, id) {
  const device = await connectDevice(gateway, id, { protocolVersion: 5 });
  cleanups.push(() => device.endAsync(true));
  return device;
}

/** @param {import('mqtt').MqttClient} device @param {string} payload @param {Record<string, string>} [userProperties] */
const publish = (device, payload, userProperties) =>
  device.publishAsync('d/pump/t', payload, {
    qos: 1,
    ...(userProperties && { properties: { userProperties } })
  });

/** @param {Record<string, string>} env */
async function start(env) {
  const cloud = await startCloud();
  cleanups.push(() => cloud.close());
  const gateway = await startGateway(cloud, { env });
  cleanups.push(() => gateway.stop());
  return { cloud, gateway };
}

test('single records keep it as user properties', async () => {
  const { cloud, gateway } = await start({ SEGANET_BATCH_MODE: 'records' });
  const messages = await received(cloud);
  const device = await connect(gateway, 'pump');
  await publish(device, '1', TRACE);
  await publish(device, '2', { traceparent: TRACE.traceparent });
  await publish(device, '3', { traceparent: 'nonsense', tracestate: TRACE.tracestate });
  await publish(device, '4');
  await eventually(() => messages.length === 4, { what: 'the records' });
  const shown = messages.map(({ payload, properties: { traceparent, tracestate } }) => [
    payload,
    traceparent,
    tracestate
  ]);
  expect(shown).toEqual([
    ['1', TRACE.traceparent, TRACE.tracestate],
    ['2', TRACE.traceparent, undefined],
    ['3', undefined, undefined],
    ['4', undefined, undefined]
  ]);
});

test('the lines of an envelope have it as fields', async () => {
  const { cloud, gateway } = await start({ SEGANET_BATCH_MODE: 'envelope' });
  const messages = await received(cloud);
  const device = await connect(gateway, 'pump');
  await publish(device, '1', TRACE);
  await publish(device, '2');
  const lines = () =>
    messages.flatMap(({ payload }) =>
      payload
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    );
  await eventually(() => lines().length === 2, { what: 'the records' });
  const [traced, plain] = lines();
  expect(traced).toMatchObject({ d: 'pump', p: 1, ...TRACE });
  expect(plain).not.toHaveProperty('traceparent');
});

test('the log keeps it over a kill -9', async () => {
  const env = { SEGANET_BATCH_MODE: 'records', SEGANET_HOME: '' };
  const { cloud, gateway } = await start({ SEGANET_BATCH_MODE: 'records' });
  await cloud.stop();
  const device = await connect(gateway, 'pump');
  await publish(device, '{"v":1}', TRACE);
  await gateway.child.stop('SIGKILL');
  await cloud.start();
  const messages = await received(cloud);
  env.SEGANET_HOME = gateway.home;
  const again = await startGateway(cloud, { env });
  cleanups.push(() => again.stop());
  await eventually(() => messages.length > 0, { what: 'the record of the log', timeoutMs: 30000 });
  expect(messages[0]).toMatchObject({ topic: 'd/pump/t', payload: '{"v":1}', properties: TRACE });
});
