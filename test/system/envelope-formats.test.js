'use strict';
// The formats of envelopes from a device over a gateway and a broker to what an unbatch node reads.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { open } = require('../../nodes/lib/unbatch/unbatch');
const { connectDevice } = require('../fixtures/devices/device');

const { test } = needs('mosquitto');
jest.setTimeout(120000);

const RECORDS = ['{"temp":21.37,"on":true}', '{"a":{"b":[1,null]}}', 'not JSON', '"text"', '-0.5'];

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test.each([
  ['cbor', '5', 'application/cbor-seq'],
  ['senml-json', '4', undefined]
])('a gateway sends %s with MQTT version %s', async (format, version, contentType) => {
  const cloud = await startCloud();
  cleanups.push(() => cloud.close());
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { protocolVersion: 5 });
  cleanups.push(() => client.endAsync(true));
  /** @type {{ opened: ReturnType<typeof open>, payload: Buffer, properties: any }[]} */
  const messages = [];
  client.on('message', (topic, payload, { properties }) => {
    const { userProperties } = properties ?? {};
    messages.push({ opened: open({ topic, payload, userProperties }, ''), payload, properties });
  });
  await client.subscribeAsync('gw/#', { qos: 1 });
  const env = { SEGANET_BATCH_FORMAT: format, SEGANET_UPLINK_PROTOCOL: version };
  const gateway = await startGateway(cloud, { env });
  cleanups.push(() => gateway.stop());
  const device = await connectDevice(gateway, 'pump-1');
  cleanups.push(() => device.endAsync(true));
  await Promise.all(RECORDS.map((payload) => device.publishAsync('hall/pump', payload, { qos: 1 })));
  const records = () => messages.flatMap(({ opened }) => opened.envelope?.records ?? []);
  await eventually(() => records().length >= RECORDS.length, { what: 'the records' });
  expect(records().map(({ deviceId, topic, seq, payload }) => [deviceId, topic, seq, payload])).toEqual([
    ['pump-1', 'hall/pump', expect.any(Number), { temp: 21.37, on: true }],
    ['pump-1', 'hall/pump', expect.any(Number), { a: { b: [1, null] } }],
    ['pump-1', 'hall/pump', expect.any(Number), Buffer.from('not JSON')],
    ['pump-1', 'hall/pump', expect.any(Number), 'text'],
    ['pump-1', 'hall/pump', expect.any(Number), -0.5]
  ]);
  for (const { payload, properties, opened } of messages) {
    expect(payload[0]).not.toBe('{'.charCodeAt(0));
    expect(properties?.contentType).toBe(contentType);
    expect(opened.key).not.toBe(null);
    expect(opened.envelope?.faults).toEqual([]);
  }
});
