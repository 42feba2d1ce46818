'use strict';
// MQTT devices that speak with AWS IoT or Azure IoT Hub, and the cloud that sets what is desired of them, over real
// sockets.

const mqtt = require('mqtt');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');

jest.setTimeout(30000);

/** @type {import('../../fixtures/gateway/deployed').Deployed} */
let gateway;
/** @type {number} */
let port;
/** @type {mqtt.MqttClient[]} */
const clients = [];

beforeAll(async () => {
  port = await freePort();
  const at = { z: 'tab', x: 100, y: 100, engine: 'engine' };
  const shadow = (
    /** @type {string} */ id,
    /** @type {object} */ settings,
    /** @type {string[][]} */ wires
  ) => ({
    ...at,
    id,
    type: 'seganet-shadow',
    ...settings,
    wires
  });
  gateway = await startFlow([
    { id: 'tab', type: 'tab', label: 'shadow' },
    { id: 'engine', type: 'seganet-engine', workers: '1', oddTopics: 'accept' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      port: String(port),
      acknowledgeMessages: 'delivered',
      wires: [['aws']]
    },
    shadow('aws', { devices: 'aws-*', dialect: 'aws' }, [[], ['azure']]),
    shadow('azure', { devices: 'azure-*', dialect: 'azure' }, [[], ['cloud']]),
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...at, id: 'cloud', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ]);
  await waitForPort(port);
});
afterAll(async () => {
  for (const client of clients) client.end(true);
  await gateway?.stop();
});

/** A device, and what it gets. @param {string} clientId @param {string[]} filters */
async function device(clientId, filters) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId });
  clients.push(client);
  /** @type {Map<string, any>} */
  const got = new Map();
  client.on('message', (topic, payload) =>
    got.set(topic, payload.length > 0 ? JSON.parse(String(payload)) : '')
  );
  await client.subscribeAsync(filters, { qos: 1 });
  const gets = async (/** @type {string} */ topic) => {
    await eventually(() => got.has(topic), { what: topic });
    return got.get(topic);
  };
  return { client, gets, got };
}

/** @param {string} id @param {object} desired */
async function desire(id, desired) {
  const response = await fetch(`http://127.0.0.1:${gateway.adminPort}/seganet/shadow`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device: id, desired })
  });
  expect(response.status).toBe(200);
}

test("answers a device of AWS IoT at AWS's topics, with all digits of its numbers", async () => {
  const topic = '$aws/things/aws-1/shadow';
  await desire('aws-1', { rate: 5 });
  const { client, gets, got } = await device('aws-1', [
    ...['update/accepted', 'update/rejected', 'update/delta'].map((end) => `${topic}/${end}`),
    `${topic}/get/+`
  ]);
  expect(await gets(`${topic}/update/delta`)).toMatchObject({ version: 1, state: { rate: 5 } });
  await client.publishAsync(`${topic}/get`, '', { qos: 1 });
  expect(await gets(`${topic}/get/accepted`)).toMatchObject({
    state: { desired: { rate: 5 }, delta: { rate: 5 } }
  });
  let text = '';
  client.on('message', (_topic, payload) => (text = String(payload)));
  await client.publishAsync(
    `${topic}/update`,
    '{"state":{"reported":{"rate":5,"serial":12345678901234567890}},"clientToken":"t"}',
    { qos: 1 }
  );
  expect(await gets(`${topic}/update/accepted`)).toMatchObject({ version: 2, clientToken: 't' });
  expect(text).toContain('"serial":12345678901234567890');
  await client.publishAsync(`${topic}/update`, '{"state":{}}', { qos: 1 });
  expect(await gets(`${topic}/update/rejected`)).toMatchObject({ code: 400 });
  got.clear();
  await client.publishAsync(`${topic}/get`, '', { qos: 1 });
  expect((await gets(`${topic}/get/accepted`)).state.delta).toBeUndefined();
});

test("answers a device of Azure IoT Hub at the hub's topics", async () => {
  const { client, gets } = await device('azure-1', [
    '$iothub/twin/res/#',
    '$iothub/twin/PATCH/properties/desired/#'
  ]);
  await client.publishAsync('$iothub/twin/PATCH/properties/reported/?$rid=1', '{"battery":55}', { qos: 1 });
  await gets('$iothub/twin/res/204/?$rid=1&$version=1');
  await desire('azure-1', { interval: 5 });
  expect(await gets('$iothub/twin/PATCH/properties/desired/?$version=1')).toEqual({
    interval: 5,
    $version: 1
  });
  await client.publishAsync('$iothub/twin/GET/?$rid=2', '', { qos: 0 });
  expect(await gets('$iothub/twin/res/200/?$rid=2')).toEqual({
    desired: { interval: 5, $version: 1 },
    reported: { battery: 55, $version: 1 }
  });
});
