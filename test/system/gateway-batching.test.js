'use strict';
// The paper's thresholds, observed at the cloud: n devices, m bytes, t milliseconds, and class 1 beside them.

const { classNames } = require('../../nodes/lib/base/classes');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevices, receive } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { PATIENCE } = require('../../bench/harness/patience');

const { describe } = needs('mosquitto');

jest.setTimeout(60000);

const maxBytes = 1024;

describe('batching', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {import('../fixtures/devices/device').Receiver} */
  let receiver;
  /** @type {import('mqtt').MqttClient[]} */
  let devices = [];

  /** @param {Record<string, string>} env */
  async function start(env) {
    cloud = await startCloud();
    gateway = await startGateway(cloud, {
      env: { 'seganet-batch.flush': 'limits', 'seganet-batch.maxBytes': String(maxBytes), ...env }
    });
    receiver = await receive(cloud);
  }
  afterEach(async () => {
    await Promise.all(devices.map((device) => device.endAsync()));
    devices = [];
    if (receiver) await receiver.close();
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    if (cloud) await cloud.close();
  });

  /** Every device sends `each` records as fast as they are acknowledged; waits for the arrival of all. */
  async function sendAll(/** @type {number} */ each) {
    receiver.clear();
    await Promise.all(
      devices.map(async (device, i) => {
        for (let n = 0; n < each; n += 1) {
          await device.publishAsync(`d/dev-${i}/t`, JSON.stringify({ i, n }), { qos: 1 });
        }
      })
    );
    const expected = devices.length * each;
    await eventually(() => receiver.records().length >= expected, { what: `${expected} records` });
    return receiver.envelopes();
  }

  test('sends one PUBLISH a record for 49 devices, and batches of at most 1 KB for 51, in order per device', async () => {
    await start({ 'seganet-batch.maxDelayMs': '1000' });
    devices = await connectDevices(gateway, 49);
    const few = await sendAll(4);
    expect(few.every(({ records }) => records.length === 1)).toBe(true);

    devices.push(...(await connectDevices(gateway, 2, 'more-')));
    const many = await sendAll(20);
    expect(Math.max(...many.map(({ records }) => records.length))).toBeGreaterThan(3);
    expect(many.length).toBeLessThan((51 * 20) / 3);
    for (const { payload, records } of many) {
      if (records.length > 1) expect(payload.length).toBeLessThanOrEqual(maxBytes);
    }
    /** @type {Map<string, number>} */
    const last = new Map();
    for (const record of receiver.records()) {
      expect(record.p.n).toBe((last.get(record.t) ?? -1) + 1);
      last.set(record.t, record.p.n);
    }
  });

  test('continues batching until fewer than 90 % of n devices are left', async () => {
    await start({ 'seganet-batch.maxDelayMs': '200' });
    devices = await connectDevices(gateway, 51);
    const batching = await sendAll(4);
    expect(Math.max(...batching.map(({ records }) => records.length))).toBeGreaterThan(1);

    await Promise.all(devices.splice(46).map((device) => device.endAsync()));
    const stillBatching = await sendAll(4);
    expect(Math.max(...stillBatching.map(({ records }) => records.length))).toBeGreaterThan(1);

    await Promise.all(devices.splice(44).map((device) => device.endAsync()));
    // The gateway notices the departure a moment after the devices.
    await eventually(async () => (await sendAll(2)).every(({ records }) => records.length === 1), {
      what: 'one PUBLISH a record with 44 devices'
    });
  });

  test('sends a critical record alone and at once, and a normal one in its batch', async () => {
    const maxDelayMs = 5000;
    await start({ 'seganet-batch.maxDelayMs': String(maxDelayMs) });
    devices = await connectDevices(gateway, 51);
    const sentAt = Date.now();
    // Few enough to stay below m on every worker: only t can seal this batch. A PUBACK waits for the batch, so this
    // test does not wait for PUBACKs.
    const publish = (/** @type {number} */ n, /** @type {string} */ topic, /** @type {string} */ payload) =>
      devices[n].publishAsync(topic, payload, { qos: 1 });
    const acknowledged = Promise.all([
      ...[0, 1, 2].map((n) => publish(n, `d/dev-${n}/t`, `{"n":${n}}`)),
      publish(0, 'd/dev-0/alarm', '{"fire":1}'),
      publish(1, 'd/dev-1/alarm', '{"fire":2}')
    ]);

    const alarm = await receiver.record((record) => record.p.fire === 2);
    expect(alarm.at - sentAt).toBeLessThan(maxDelayMs / 5);
    expect(receiver.records().some((record) => record.c !== 1)).toBe(false);
    const normal = await receiver.record((record) => record.p.n === 2);
    expect(normal.at - sentAt).toBeGreaterThan(maxDelayMs * 0.9);
    expect(normal.at - sentAt).toBeLessThan(maxDelayMs + 2000 * PATIENCE);
    await acknowledged;

    for (const { topic, records } of receiver.envelopes()) {
      const classes = new Set(records.map((record) => record.c));
      expect(classes.size).toBe(1);
      expect(topic).toBe(`gw/gw-test/${classNames[records[0].c]}`);
      if (records[0].c === 1) expect(records.length).toBe(1);
    }
  });

  test('mixes no classes in a batch under mixed load', async () => {
    await start({ 'seganet-batch.maxDelayMs': '300' });
    devices = await connectDevices(gateway, 60);
    await Promise.all(
      devices.map(async (device, i) => {
        for (let n = 0; n < 20; n += 1) {
          const alarm = (i + n) % 5 === 0;
          await device.publishAsync(`d/dev-${i}/${alarm ? 'alarm' : 't'}`, `{"n":${n}}`, { qos: 1 });
        }
      })
    );
    await eventually(() => receiver.records().length >= 1200, { what: '1,200 records' });
    for (const { records } of receiver.envelopes()) {
      expect(new Set(records.map((record) => record.c)).size).toBe(1);
      expect(records.every((record) => (record.c === 1) === record.t.endsWith('/alarm'))).toBe(true);
    }
  });
});
