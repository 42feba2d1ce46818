'use strict';
// Compressed batches from devices over the gateway and a real broker to the records that unbatch reads.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevices } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { Dictionaries } = require('../../nodes/lib/unbatch/dictionaries');
const { decompress, dictionaryIn, encodingOf } = require('../../nodes/lib/unbatch/payload-encoding');
const { readEnvelope } = require('../../nodes/lib/unbatch/unbatch');

const { describe } = needs('mosquitto');

jest.setTimeout(90000);

const DEVICES = 20;
const EACH = 40;

/** @param {string} topic @param {Buffer} payload @param {any} properties */
function messageOf(topic, payload, { properties = {} }) {
  const { userProperties } = properties;
  return { topic, payload, ...(userProperties && { userProperties }) };
}

describe.each([
  ['zstd', '5'],
  ['zstd', '4'],
  ['deflate', '5']
])('%s over MQTT version %s', (compress, version) => {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  afterAll(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  test('delivers each record once, smaller, and with a dictionary that a later subscriber gets, too', async () => {
    const cloud = await startCloud();
    cleanups.push(() => cloud.close());
    const gateway = await startGateway(cloud, {
      env: {
        SEGANET_COMPRESS: compress,
        'seganet-uplink-broker.protocolVersion': version,
        'seganet-batch.flush': 'limits',
        'seganet-batch.minDevices': '0',
        'seganet-batch.maxBytes': '4096',
        'seganet-batch.maxDelayMs': '20'
      }
    });
    cleanups.push(async () => expect(await gateway.stop()).toMatchObject({ code: 0 }));
    const dictionaries = new Dictionaries('');
    /** @type {import('../../nodes/lib/unbatch/unbatch').EnvelopeRecord[]} */
    const records = [];
    let compressed = 0;
    let named = 0;
    const subscribe = async (/** @type {(msg: any) => void} */ take) => {
      const url = `mqtt://127.0.0.1:${cloud.plainPort}`;
      const client = await mqtt.connectAsync(url, { protocolVersion: 5 });
      cleanups.push(() => client.endAsync());
      client.on('message', (topic, payload, packet) => take(messageOf(topic, payload, packet)));
      await client.subscribeAsync('gw/#', { qos: 1 });
    };
    await subscribe((msg) => {
      const content = dictionaryIn(msg);
      if (content) return void dictionaries.add(content);
      const encoded = encodingOf(msg);
      if (encoded) compressed++;
      if (encoded?.dictionary) named++;
      const bytes = encoded ? decompress(encoded, dictionaries.get(encoded.dictionary)) : msg.payload;
      records.push(...readEnvelope(bytes).records);
    });
    const devices = await connectDevices(gateway, DEVICES);
    cleanups.push(() => Promise.all(devices.map((device) => device.endAsync())));
    let sent = 0;
    const round = () =>
      Promise.all(
        devices.map((device, i) => {
          const n = sent++;
          const status = {
            temperature: { tC: 20 + (n % 50) / 10 },
            apower: (n * 37) % 900,
            output: n % 2 === 0
          };
          return device.publishAsync(`d/dev-${i}/status`, JSON.stringify({ n, ...status }), { qos: 1 });
        })
      );
    for (let i = 0; i < EACH; i++) await round();
    await eventually(
      async () => {
        await round();
        return named > 0;
      },
      { timeoutMs: 40000, everyMs: 20, what: 'a batch with a dictionary' }
    );
    await eventually(() => records.length >= sent, { what: `${sent} records` });
    const numbers = records.map(({ payload }) => /** @type {any} */ (payload).n);
    expect(new Set(numbers).size).toBe(sent);
    expect(compressed).toBeGreaterThan(EACH / 2);
    expect(dictionaries.size).toBe(1);
    // Retained: it is there for whoever comes later.
    const later = new Dictionaries('');
    await subscribe((msg) => {
      const content = dictionaryIn(msg);
      if (content) later.add(content);
    });
    await eventually(() => later.size === 1, { what: 'the retained dictionary' });
  });
});
