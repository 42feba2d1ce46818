'use strict';
// From a real client to a real broker: the arriving records and their form.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevice, connectDevices, parseEnvelope, receive } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto', 'mosquitto_pub', 'mosquitto_sub');

jest.setTimeout(60000);

describe('envelopes', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {Child} */
  let subscriber;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));

  beforeAll(async () => {
    cloud = await startCloud();
    gateway = await startGateway(cloud);
    // -N: no line feed of its own, so that the output is only the payloads.
    const port = String(cloud.plainPort);
    const args = ['-h', '127.0.0.1', '-p', port, '-i', 'receiver', '-q', '1', '-N', '-t', 'gw/gw-test/#'];
    subscriber = new Child('mosquitto_sub', args);
    await cloud.waitForClient(/^receiver$/);
  });
  afterAll(async () => {
    if (subscriber) await subscriber.stop();
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    if (cloud) await cloud.close();
    fs.rmSync(folder, { recursive: true });
  });

  /** Publishes with mosquitto_pub and returns the record that mosquitto_sub printed. */
  async function through(
    /** @type {string} */ id,
    /** @type {Buffer | string} */ payload,
    topic = `d/${id}/t`,
    qos = 1
  ) {
    const file = path.join(folder, id);
    fs.writeFileSync(file, payload);
    const content = payload.length > 0 ? ['-f', file] : ['-n'];
    const args = [
      '-h',
      gateway.host,
      '-p',
      String(gateway.port),
      '-i',
      id,
      '-q',
      String(qos),
      '-t',
      topic,
      ...content
    ];
    execFileSync('mosquitto_pub', args, { timeout: 10000 });
    return printed(id);
  }

  /** Returns the record of device `id` from mosquitto_sub's output, once it is there. */
  function printed(/** @type {string} */ id) {
    return subscriber.until((output) => {
      const whole = output.slice(0, output.lastIndexOf('\n') + 1);
      return whole ? parseEnvelope(Buffer.from(whole)).find((record) => record.d === id) : undefined;
    });
  }

  test('embeds a JSON payload from mosquitto_pub as JSON', async () => {
    const before = Date.now();
    const record = await through('json', '{"temperature":21.5,"tags":["a","ä"]}');
    expect(record).toEqual({
      k: expect.stringMatching(/^gw-test\/[0-9a-z]+\/3\/\d+$/),
      d: 'json',
      t: 'd/json/t',
      ts: expect.any(Number),
      s: expect.any(Number),
      c: 3,
      p: { temperature: 21.5, tags: ['a', 'ä'] }
    });
    expect(Object.keys(record)).toEqual(['k', 'd', 't', 'ts', 's', 'c', 'p']);
    expect(record.ts).toBeGreaterThanOrEqual(before - 5);
    expect(record.ts).toBeLessThanOrEqual(Date.now() + 5);
  });

  test('puts JSON over several lines on one line', async () => {
    const value = { a: [1, 2], text: 'line\nfeed "quoted" \\ \r' };
    expect((await through('lines', JSON.stringify(value, null, 2).replace(/\n/g, '\r\n'))).p).toEqual(value);
  });

  test.each([
    ['number', '42', 42],
    ['string', '"on"', 'on'],
    ['null', 'null', null],
    ['exponent', '-1.5e-3', -0.0015]
  ])('takes a %s as JSON too', async (id, payload, value) => {
    expect(await through(`scalar-${id}`, payload)).toHaveProperty('p', value);
  });

  test.each([
    ['binary', Buffer.from([0, 255, 10, 13, 0, 128, 34, 92])],
    ['text', Buffer.from('21.5 °C')],
    ['nan', Buffer.from('{"v":NaN}')],
    ['cut-off', Buffer.from('{"v":1')],
    ['two-values', Buffer.from('{} {}')],
    ['trailing-comma', Buffer.from('[1,]')],
    ['raw-control', Buffer.from('"a\u0001b"')],
    ['invalid-utf8', Buffer.concat([Buffer.from('"'), Buffer.from([0xc3, 0x28]), Buffer.from('"')])],
    ['leading-zero', Buffer.from('007')],
    ['empty', Buffer.alloc(0)]
  ])('sends a payload that is not JSON (%s) as base64', async (id, payload) => {
    const record = await through(`raw-${id}`, payload);
    expect(record).not.toHaveProperty('p');
    expect(Buffer.from(/** @type {string} */ (record.b), 'base64')).toEqual(payload);
  });

  test('delivers QoS 0 as well', async () => {
    expect((await through('qos0', '{"q":0}', 'd/qos0/t', 0)).p).toEqual({ q: 0 });
  });

  test('makes an alarm critical by a topic rule', async () => {
    expect((await through('alarm', '{"fire":true}', 'd/alarm/alarm')).c).toBe(1);
  });

  test('keeps device ids and topics with quotes, backslashes and non-ASCII intact', async () => {
    const id = 'dév "1" \\ π';
    const device = await connectDevice(gateway, id);
    await device.publishAsync(`d/${id}/t`, '1', { qos: 1 });
    await device.endAsync();
    expect((await printed(id)).t).toBe(`d/${id}/t`);
  });
});

describe('records mode', () => {
  test('delivers topics and payloads of 60 devices unchanged, in order per device', async () => {
    const cloud = await startCloud();
    const gateway = await startGateway(cloud, { env: { SEGANET_BATCH_MODE: 'records' } });
    try {
      const receiver = await receive(cloud, 'd/#');
      const devices = await connectDevices(gateway, 60);
      /** @type {Record<string, string[]>} */
      const sent = {};
      await Promise.all(
        devices.map(async (device, i) => {
          const topic = `d/dev-${i}/t`;
          sent[topic] = [];
          for (let n = 0; n < 10; n += 1) {
            const payload = Buffer.from([i, n, 0, 255, ...Buffer.from(`{"n":${n}}`)]);
            sent[topic].push(payload.toString('hex'));
            await device.publishAsync(topic, payload, { qos: 1 });
          }
        })
      );
      await eventually(() => receiver.arrivals.length >= 600, { what: '600 records' });
      /** @type {Record<string, string[]>} */
      const arrived = {};
      for (const { topic, payload } of receiver.arrivals)
        (arrived[topic] ||= []).push(payload.toString('hex'));
      expect(arrived).toEqual(sent);
      await Promise.all(devices.map((device) => device.endAsync()));
      await receiver.close();
    } finally {
      expect(await gateway.stop()).toMatchObject({ code: 0 });
      await cloud.close();
    }
  });
});

describe('one device, two connections', () => {
  test('lets a second connection with the same client id take over, and loses no record of either', async () => {
    const cloud = await startCloud();
    const gateway = await startGateway(cloud);
    try {
      const receiver = await receive(cloud);
      const first = await connectDevice(gateway, 'twin');
      const closed = new Promise((resolve) => first.once('close', () => resolve(true)));
      await first.publishAsync('d/twin/t', '{"n":1}', { qos: 1 });
      const second = await connectDevice(gateway, 'twin');
      expect(await closed).toBe(true);
      await second.publishAsync('d/twin/t', '{"n":2}', { qos: 1 });
      const other = await connectDevice(gateway, 'other');
      await other.publishAsync('d/other/t', '{"n":3}', { qos: 1 });
      await receiver.record((record) => record.p.n === 2);
      await receiver.record((record) => record.p.n === 3);
      const numbers = receiver.records().filter((record) => record.d === 'twin');
      expect(numbers.map((record) => record.p.n)).toEqual([1, 2]);
      expect(second.connected).toBe(true);
      await Promise.all([second.endAsync(), other.endAsync(), first.endAsync(true), receiver.close()]);
    } finally {
      expect(await gateway.stop()).toMatchObject({ code: 0 });
      await cloud.close();
    }
  });
});
