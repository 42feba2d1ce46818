'use strict';
// The proxy is checked before it is trusted. mqtt.js helps: it breaks the limits that a gateway must keep.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { eventually, freePort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { CloudBroker } = require('./cloud');
const { Frames } = require('./frames');
const { payloadOf } = require('./devices/payload');
const { CALM, Proxy, isChosen } = require('./proxy');
const { readPublish } = require('./devices/reading');

const { describe } = needs('mosquitto');

const shape = { seed: 1, minPad: 20, maxPad: 40, bigEvery: 0, bigPad: 0 };
/** @param {number} n */
const record = (n) => ({ topic: 'd/dev-001/c3', payload: payloadOf(shape, 'dev-001', 3, n) });

describe('the proxy', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-proxy-'));
  /** @type {CloudBroker} */
  let broker;
  /** @type {Proxy} */
  let proxy;
  /** @type {any} */
  let history;
  /** @type {mqtt.MqttClient | undefined} */
  let client;
  beforeAll(async () => {
    broker = new CloudBroker(folder, await freePort());
    await broker.start();
    proxy = new Proxy({
      port: await freePort(),
      target: broker.port,
      window: 100,
      history: {},
      clock: () => performance.now()
    });
    await proxy.open();
  });
  beforeEach(() => {
    history = { arrivals: [], refusals: [], disruptions: [], findings: [] };
    proxy.history = history;
    Object.assign(proxy.conditions, CALM);
  });
  afterEach(() => client?.end(true));
  afterAll(async () => {
    await proxy.close();
    await broker.stop();
    fs.rmSync(folder, { recursive: true });
  });

  /** @param {mqtt.IClientOptions} [options] */
  const connect = async (options = {}) => {
    const url = `mqtt://127.0.0.1:${proxy.port}`;
    client = await mqtt.connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, ...options });
    client.on('error', () => {});
    return client;
  };
  /** @param {mqtt.MqttClient} publisher @param {number} n @param {any} [properties] */
  const publish = (publisher, n, properties) => {
    const { topic, payload } = record(n);
    return publisher.publishAsync(topic, payload, { qos: 1, properties });
  };

  test('records acknowledged messages in order, with key and mark', async () => {
    const publisher = await connect();
    const userProperties = { 'seganet-key': 'gw/1/3/7', 'seganet-history': '1' };
    await Promise.all([
      publish(publisher, 0),
      publish(publisher, 1, { userProperties }),
      publish(publisher, 2)
    ]);
    expect(
      history.arrivals.map((/** @type {any} */ each) => [each.n, each.key, each.historical, each.passed])
    ).toEqual([
      [0, '', false, true],
      [1, 'gw/1/3/7', true, true],
      [2, '', false, true]
    ]);
    const { topic, payload } = record(0);
    // [MQTT-2.2.1] Besides the payload: two bytes of header, topic with its length, packet id, no properties.
    expect(history.arrivals[0]).toMatchObject({
      topic,
      bytes: 2 + 2 + topic.length + 2 + 1 + payload.length
    });
    expect(history.findings).toEqual([]);
  });

  test('reports a client that exceeds the granted Receive Maximum and Maximum Packet Size', async () => {
    Object.assign(proxy.conditions, { receiveMaximum: 2, maximumPacketSize: 1024 });
    const publisher = await connect();
    await Promise.all([0, 1, 2, 3, 4].map((n) => publish(publisher, n)));
    expect(history.findings[0]).toMatchObject({ what: 'receive-maximum' });
    history.findings.length = 0;
    await publisher.publishAsync(
      'd/dev-001/c3',
      payloadOf({ ...shape, minPad: 1500, maxPad: 1500 }, 'dev-001', 3, 9),
      { qos: 1 }
    );
    expect(history.findings[0]).toMatchObject({ what: 'maximum-packet-size' });
  });

  test('refuses in place of the broker, and records that', async () => {
    proxy.conditions.refuseEvery = 3;
    const name = (/** @type {number} */ n) => ({ device: 'dev-001', class: 3, n });
    const [chosen, other] = [true, false].map((is) =>
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].find((n) => isChosen(name(n), 3) === is)
    );
    const publisher = await connect();
    await publish(publisher, /** @type {number} */ (other));
    await expect(publish(publisher, /** @type {number} */ (chosen))).rejects.toMatchObject({ code: 0x87 });
    Object.assign(proxy.conditions, { refuseEvery: 0, quota: 0x97 });
    await expect(publish(publisher, 10)).rejects.toMatchObject({ code: 0x97 });
    expect(history.arrivals.map((/** @type {any} */ each) => each.n)).toEqual([other]);
    expect(history.refusals.map((/** @type {any} */ { n, code }) => [n, code])).toEqual([
      [chosen, 0x87],
      [10, 0x97]
    ]);
  });

  test('refuses a CONNECT with the code of the conditions', async () => {
    proxy.conditions.connack = 0x88;
    await expect(connect()).rejects.toMatchObject({ code: 0x88 });
  });

  test('resets in a PUBACK: the broker has the record, the gateway does not know', async () => {
    const publisher = await connect();
    await publish(publisher, 0);
    const broken = proxy.breakNext('puback', 2000);
    void publish(publisher, 1).catch(() => {});
    await eventually(() => !publisher.connected, { what: 'the end of the connection' });
    expect(history.arrivals.map((/** @type {any} */ { n, passed }) => [n, passed])).toEqual([
      [0, true],
      [1, false]
    ]);
    expect(history.disruptions).toHaveLength(1);
    await broken;
  });

  test('treats parallel sessions as independent, and a repeated session as the end of the earlier one', async () => {
    const first = await connect({ clientId: 'gw-1', clean: true });
    const second = await connect({ clientId: 'gw-2', clean: true });
    expect(history.disruptions).toHaveLength(0);
    await connect({ clientId: 'gw-1', clean: true });
    expect(history.disruptions).toHaveLength(1);
    for (const each of [first, second]) each.end(true);
    await eventually(() => history.disruptions.length === 2, { what: 'the end of the second session' });
  });

  test('resets in a PUBLISH: the broker does not have it', async () => {
    const publisher = await connect();
    const broken = proxy.breakNext('publish', 2000);
    void publish(publisher, 1).catch(() => {});
    await eventually(() => !publisher.connected, { what: 'the end of the connection' });
    await broken;
    expect(history.arrivals).toEqual([]);
  });

  test('keeps a frozen connection open and silent, also afterwards; a connection made meanwhile works then', async () => {
    const first = await connect();
    proxy.freeze();
    void publish(first, 1).catch(() => {});
    const second = connect();
    await expect(
      Promise.race([second, new Promise((_, reject) => setTimeout(reject, 300, 'silent'))])
    ).rejects.toBe('silent');
    proxy.thaw();
    await publish(await second, 2);
    expect(first.connected).toBe(true);
    expect(history.arrivals.map((/** @type {any} */ { n }) => n)).toEqual([2]);
    first.end(true);
  });

  test('delays PUBACKs and slows the broker', async () => {
    proxy.conditions.delayMs = 200;
    const publisher = await connect();
    let start = performance.now();
    await publish(publisher, 0);
    expect(performance.now() - start).toBeGreaterThan(190);
    Object.assign(proxy.conditions, { delayMs: 0, bytesPerSecond: 1000 });
    start = performance.now();
    await Promise.all([1, 2, 3].map((n) => publish(publisher, n)));
    expect(performance.now() - start).toBeGreaterThan(300);
  });
});

describe('reading', () => {
  /** @param {number} n @param {object} [more] */
  const line = (n, more = {}) => {
    const payload = JSON.parse(record(n).payload);
    return `${JSON.stringify({ d: 'dev-001', t: 'd/dev-001/c3', ts: 1, s: n, c: 3, p: payload, ...more })}\n`;
  };
  /** @param {string} text @param {any} [userProperties] */
  const read = (text, userProperties) =>
    readPublish(
      /** @type {any} */ ({
        topic: 'gw/g/normal',
        payload: Buffer.from(text),
        properties: { userProperties }
      })
    );

  test("reads an envelope's records, and the key of its first line", () => {
    const text = line(0).replace('{', '{"k":"gw/1/3/5",') + line(1);
    const { records, key, problem } = read(text, { 'seganet-key': 'gw/1/3/5' });
    expect(records.map(({ device, n, index }) => [device, n, index])).toEqual([
      ['dev-001', 0, 0],
      ['dev-001', 1, 1]
    ]);
    expect({ key, problem }).toEqual({ key: 'gw/1/3/5', problem: '' });
    expect(read(text, { 'seganet-key': 'gw/1/3/6' }).problem).not.toBe('');
  });

  test('reads a line that is cut off, damaged or contradicts its payload as a phantom, or a changed record', () => {
    const good = read(line(0)).records[0].hash;
    expect(read(line(0) + line(1).slice(0, 60)).records[1]).toMatchObject({ device: '?', n: -1 });
    for (const text of [
      line(0, { d: 'dev-002' }),
      line(0, { c: 1 }),
      line(0, { t: 'd/x' }),
      line(0).replace(/"pad":"./, '"pad":"')
    ]) {
      const [{ device, n, hash }] = read(text).records;
      expect([device, n]).toEqual(['dev-001', 0]);
      expect(hash).not.toBe(good);
    }
  });
});

test('splits frames at every byte', () => {
  const bytes = Buffer.concat([
    Buffer.from([0xc0, 0]),
    Buffer.concat([Buffer.from([0x30, 0x80, 0x01]), Buffer.alloc(128)])
  ]);
  for (let at = 0; at <= bytes.length; at += 1) {
    const frames = new Frames();
    const found = [...frames.push(bytes.subarray(0, at)), ...frames.push(bytes.subarray(at))];
    expect(found.map(({ length }) => length)).toEqual([2, 131]);
    expect(frames.partial).toBe(0);
  }
  expect(() => new Frames().push(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 1]))).toThrow('four bytes');
});
