'use strict';
// Two gateways whose rights a real broker checks, before one unbatch node: the one that is hostile can neither make a
// batch of the other one look like a second copy, nor send records in its name.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const coreMqtt = require('@node-red/nodes/core/network/10-mqtt.js');
const { Broker } = require('../../../bench/harness/broker');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { helper, node, modules, shown } = require('../../nodes/support/gateway');

const { describe } = needs('mosquitto', 'openssl', 'mosquitto_passwd');

jest.setTimeout(60000);

const tab = { id: 'tab', type: 'tab', label: 'cloud' };
const EPOCH = 'mdl3k2x1q';
const line = (/** @type {string} */ device, /** @type {number} */ seq, /** @type {object} */ more = {}) =>
  `${JSON.stringify({ ...more, d: device, t: 'hall', ts: 5, s: seq, c: 3, p: seq })}\n`;
/** An envelope whose first line has this key. */
const envelope = (/** @type {string} */ k, /** @type {string[]} */ ...devices) =>
  devices.map((device, i) => line(device, i, i === 0 ? { k } : {})).join('');

describe.each([5, 4])('with MQTT version %s', (protocolVersion) => {
  /** @type {Broker} */
  let broker;
  /** @type {string} */
  let folder;
  /** @type {mqtt.MqttClient[]} */
  const clients = [];
  /** @type {any[]} */
  let arrived = [];
  /** @type {string[]} */
  let caught = [];

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-publishers-'));
    const [passwords, acl] = ['passwords', 'acl'].map((name) => path.join(folder, name));
    fs.writeFileSync(passwords, '');
    for (const user of ['pi-1', 'pi-2', 'cloud'])
      execFileSync('mosquitto_passwd', ['-b', passwords, user, `${user} pw`], { stdio: 'ignore' });
    fs.writeFileSync(acl, 'user cloud\ntopic read #\n\npattern write gw/%u/#\npattern write hall/%u/#\n');
    broker = await Broker.start({ log: false, config: `password_file ${passwords}\nacl_file ${acl}` });
    await new Promise((resolve) => helper.startServer(() => resolve(undefined)));
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.endAsync(true)));
    await helper.unload();
  });
  afterAll(async () => {
    await new Promise((resolve) => helper.stopServer(() => resolve(undefined)));
    await broker.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** mqtt in → unbatch, its records, and its Catch node. @param {object} settings of the unbatch node */
  async function cloud(settings) {
    const connection = {
      id: 'broker',
      type: 'mqtt-broker',
      broker: '127.0.0.1',
      port: String(broker.plainPort),
      protocolVersion: String(protocolVersion),
      clientid: 'cloud',
      cleansession: true,
      keepalive: '60'
    };
    const source = { topic: '#', qos: '1', datatype: 'buffer', broker: 'broker' };
    const flow = [
      tab,
      connection,
      node('in', 'mqtt in', source, 'un'),
      node('un', 'unbatch', { engine: undefined, ...settings }, 'out'),
      node('out', 'helper'),
      node('catch', 'catch', { scope: null, uncaught: false }, 'caught'),
      node('caught', 'helper')
    ];
    [arrived, caught] = [[], []];
    const credentials = { broker: { user: 'cloud', password: 'cloud pw' } };
    const catchNode = require('@node-red/nodes/core/common/25-catch.js');
    await helper.load([...modules, coreMqtt, catchNode], flow, credentials);
    helper.getNode('out').on('input', (/** @type {any} */ msg) => arrived.push(msg));
    helper.getNode('caught').on('input', (/** @type {any} */ msg) => caught.push(msg.error.message));
    await until(() => helper.getNode('broker').connected);
  }

  /** @param {() => unknown} condition */
  const until = (condition) => eventually(condition, { what: String(condition) });

  /** @param {string} user */
  async function gateway(user) {
    const client = await mqtt.connectAsync(broker.plainUrl, {
      username: user,
      password: `${user} pw`,
      protocolVersion: /** @type {4 | 5} */ (protocolVersion)
    });
    clients.push(client);
    /** @param {string} topic @param {string} payload @param {string} [key] user property */
    return (topic, payload, key) =>
      client
        .publishAsync(topic, payload, {
          qos: 1,
          ...(protocolVersion === 5 && key && { properties: { userProperties: { 'seganet-key': key } } })
        })
        // The broker refuses a topic of another gateway: MQTT 5 says so, 3.1.1 drops it.
        .catch(() => {});
  }

  const key = (/** @type {string} */ name, /** @type {number | string} */ sequence) =>
    `${name}/${EPOCH}/3/${sequence}`;
  const devices = () => arrived.map(({ deviceId }) => deviceId);

  test('the hostile gateway can neither drop nor forge batches of the other one', async () => {
    await cloud({ version: 2, gatewayTopic: 'gw/{gateway}/{class}' });
    const [honest, hostile] = [await gateway('pi-1'), await gateway('pi-2')];
    const stolen = envelope(key('pi-1', 1), 'forged-1', 'forged-2', 'forged-3');
    const attempts = [
      // Its own topics, with the key that the other gateway will use next, in the payload, the property, and both.
      ['gw/pi-2/normal', stolen],
      ['gw/pi-2/normal', stolen, key('pi-1', 1)],
      ['gw/pi-2/normal', stolen, key('pi-2', 1)],
      ['gw/pi-2/normal', 'a single record', key('pi-1', 1)],
      ['gw/pi-2/normal', 'a part', key('pi-1', '1.2')],
      ['gw/pi-2/normal/history', stolen, key('pi-1', 1)],
      ['gw/pi-2/gw/pi-1/normal', stolen, key('pi-1', 1)],
      ['gw/pi-2/critical', envelope(`pi-2/${EPOCH}/3/9`, 'forged-class')],
      // A device behind it, with MQTT 3.1.1 in mode records: its payload looks like an envelope.
      ['hall/pi-2/gw/pi-1/normal', stolen],
      ['hall/pi-2/x', stolen],
      // Not allowed by the broker.
      ['gw/pi-1/normal', stolen, key('pi-1', 1)]
    ];
    for (const [topic, payload, property] of attempts) await hostile(topic, payload, property);
    await honest('gw/pi-1/normal', envelope(key('pi-1', 1), 'meter-7', 'meter-8'), key('pi-1', 1));
    await hostile('gw/pi-2/normal', envelope(key('pi-2', 2), 'meter-9'), key('pi-2', 2));
    await until(() => devices().includes('meter-9'));
    // With MQTT 5, an envelope with another key in its property is the payload of a single record of its sender.
    expect(devices().filter(Boolean)).toEqual(['meter-7', 'meter-8', 'meter-9']);
    for (const { batch, deviceId } of arrived)
      expect([deviceId, batch.gateway]).toEqual([deviceId, /^meter-[78]$/.test(deviceId) ? 'pi-1' : 'pi-2']);
    expect(caught.length).toBeGreaterThanOrEqual(8);
    for (const sentence of caught) expect(sentence).toMatch(/refused|no record/);
    // A real second copy is still dropped.
    await honest('gw/pi-1/normal/history', envelope(key('pi-1', 1), 'meter-7', 'meter-8'), key('pi-1', 1));
    await honest('gw/pi-1/normal', envelope(key('pi-1', 2), 'meter-1'), key('pi-1', 2));
    await until(() => devices().includes('meter-1'));
    expect(devices().filter((/** @type {string} */ device) => device === 'meter-7')).toHaveLength(1);
    await until(() => /refused · 2 duplicates dropped/.test(shown('un')?.text ?? ''));
  });

  test('a node of an older flow accepts every topic, as before', async () => {
    await cloud({});
    const hostile = await gateway('pi-2');
    await hostile('gw/pi-2/normal', envelope(key('pi-1', 1), 'forged'));
    await until(() => devices().includes('forged'));
    expect(caught).toEqual([]);
  });
});
