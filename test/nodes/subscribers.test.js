'use strict';
// Local subscribers: MQTT.js clients of an mqtt devices node read the records of all devices, also while flows are
// deployed.

const mqtt = require('mqtt');
const { FlowRuntime } = require('../fixtures/plan/flow-runtime');
const { eventually, freePort } = require('../../bench/harness/net');

const runtime = new FlowRuntime();
beforeAll(() => runtime.start());
afterEach(() => Promise.all(clients.splice(0).map((client) => client.endAsync(true))));
afterAll(() => runtime.end());

/** @type {mqtt.MqttClient[]} */
const clients = [];
/** @type {number[]} */
let ports = [];
beforeAll(async () => {
  ports = [await freePort(), await freePort()];
});

const node = (/** @type {string} */ id, /** @type {string} */ type, properties = {}, to = 'cloud') => ({
  id,
  type: `seganet-${type}`,
  z: 'tab',
  x: 1,
  y: 1,
  engine: 'engine',
  wires: [[to]],
  ...properties
});
const flow = (subscribers = 'dashboard=#, home-*=z/#', more = /** @type {object[]} */ ([])) => [
  { id: 'tab', type: 'tab', label: 'one' },
  { id: 'engine', type: 'seganet-engine', gatewayId: 'gw', acknowledge: 'received', workers: '2' },
  { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
  node('readers', 'mqtt-devices', { port: String(ports[0]), version: 2, subscribers }),
  node('devices', 'mqtt-devices', { port: String(ports[1]), version: 2 }),
  node('in', 'ingest'),
  { ...node('cloud', 'uplink', { broker: 'broker' }), wires: [] },
  ...more
];

/** @param {string} clientId @param {number} port @param {Partial<mqtt.IClientOptions>} [options] */
async function connect(clientId, port, options = {}) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, ...options });
  clients.push(client);
  return client;
}

/**
 * @param {mqtt.MqttClient} client @param {boolean} [retain] last values, or records
 * @returns {string[]} "topic payload" of what arrives from now on
 */
function reading(client, retain = false) {
  /** @type {string[]} */
  const read = [];
  client.on('message', (topic, payload, packet) => {
    if (packet.retain === retain) read.push(`${topic} ${payload}`);
  });
  return read;
}

/** @param {() => boolean} done */
const until = (done) => eventually(done, { everyMs: 2, what: String(done) });

test.each([4, 5])('read what devices of all sources send, with MQTT level %i', async (protocolVersion) => {
  await runtime.deploy(flow());
  const level = /** @type {4 | 5} */ (protocolVersion);
  const dashboard = await connect('dashboard', ports[0], { protocolVersion: level });
  const home = await connect('home-1', ports[0], { protocolVersion: level });
  const device = await connect('lamp', ports[1]);
  const [all, some] = [reading(dashboard), reading(home)];
  expect((await dashboard.subscribeAsync('#', { qos: 1 }))[0].qos).toBe(0);
  await home.subscribeAsync('z/+');
  await device.publishAsync('z/lamp', 'on', { qos: 1 });
  await device.publishAsync('other', '1', { qos: 1 });
  runtime.node('in').receive({ deviceId: 'meter', topic: 'z/meter', payload: '7' });
  await until(() => all.length >= 3 && some.length >= 2);
  // In order of each device; devices are on different workers.
  expect(all.filter((each) => !each.includes('meter'))).toEqual(['z/lamp on', 'other 1']);
  expect([...all].sort()).toEqual(['other 1', 'z/lamp on', 'z/meter 7']);
  expect([...some].sort()).toEqual(['z/lamp on', 'z/meter 7']);
  const rows = runtime.host.registry.page('', 100).agents;
  expect(rows.map((row) => [row.device, row.reads, row.drops])).toEqual([
    ['dashboard', 1, 0],
    ['home-1', 1, 0],
    ['lamp', 0, 0],
    ['meter', 0, 0]
  ]);
  const { subscriberRecords, subscriberDrops } = runtime.host.engine.stats().counters;
  expect(subscriberRecords).toBeGreaterThanOrEqual(5);
  expect(subscriberDrops).toBe(0);
});

test.each([4, 5])(
  'a late dashboard gets the last values at once, with MQTT level %i',
  async (protocolVersion) => {
    await runtime.deploy(flow());
    const device = await connect('lamp', ports[1]);
    for (const state of ['off', 'on']) await device.publishAsync('late/lamp', state, { qos: 1 });
    runtime.node('in').receive({ deviceId: 'meter', topic: 'late/meter', payload: '7' });
    await until(() => runtime.host.engine.values({ filter: 'late/#' }).values.length === 2);
    const level = /** @type {4 | 5} */ (protocolVersion);
    const dashboard = await connect('dashboard', ports[0], { protocolVersion: level });
    const [values, records] = [reading(dashboard, true), reading(dashboard)];
    await dashboard.subscribeAsync('late/#');
    await until(() => values.length >= 2);
    expect([...values].sort()).toEqual(['late/lamp on', 'late/meter 7']);
    await device.publishAsync('late/lamp', 'off', { qos: 1 });
    await until(() => records.length > 0);
    expect(records).toEqual(['late/lamp off']);
    expect(values.length).toBe(2);
  }
);

test('a filter beyond the row is refused', async () => {
  await runtime.deploy(flow());
  const home = await connect('home-1', ports[0], { protocolVersion: 5 });
  await expect(home.subscribeAsync('#')).rejects.toThrow(/Not authorized/i);
  const stranger = reading(await connect('stranger', ports[0]));
  await clients[1].subscribeAsync('#');
  await home.subscribeAsync('z/#');
  const own = reading(home);
  await (await connect('lamp', ports[1])).publishAsync('z/1', '1', { qos: 1 });
  await until(() => own.length > 0);
  expect([own, stranger]).toEqual([['z/1 1'], []]);
});

test('deploys of modified nodes under load leave a reader without a gap', async () => {
  await runtime.deploy(flow());
  const dashboard = await connect('dashboard', ports[0]);
  const device = await connect('lamp', ports[1]);
  const read = reading(dashboard);
  await dashboard.subscribeAsync('n');
  let sent = 0;
  for (let round = 0; round < 6; round++) {
    const more = round % 2 ? [] : [node('in2', 'ingest')];
    const deployed = runtime.deploy(flow(undefined, more), 'nodes');
    for (let i = 0; i < 50; i++) await device.publishAsync('n', String(sent++), { qos: 1 });
    await deployed;
  }
  await until(() => read.length >= sent);
  expect(read).toEqual(Array.from({ length: sent }, (_none, number) => `n ${number}`));
}, 30000);

test('a deploy that restarts the listeners gives a reader the records after its return', async () => {
  await runtime.deploy(flow());
  const dashboard = await connect('dashboard', ports[0], { reconnectPeriod: 50 });
  const read = reading(dashboard);
  await dashboard.subscribeAsync('n');
  await runtime.deploy(flow(undefined, [node('in2', 'ingest')]), 'flows');
  await until(() => dashboard.connected);
  const device = await connect('lamp', ports[1]);
  for (let sent = 0; read.length === 0 && sent < 100; sent++) {
    await device.publishAsync('n', String(sent), { qos: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(read.length).toBeGreaterThan(0);
});

test('a deploy that takes the right away ends the reading', async () => {
  await runtime.deploy(flow());
  const options = { reconnectPeriod: 50 };
  const dashboard = await connect('dashboard', ports[0], options);
  const read = reading(dashboard);
  await dashboard.subscribeAsync('#');
  const device = await connect('lamp', ports[1]);
  await device.publishAsync('t', '1', { qos: 1 });
  await until(() => read.length > 0);
  await runtime.deploy(flow(''), 'nodes');
  await until(() => dashboard.connected);
  await device.publishAsync('t', '2', { qos: 1 });
  const control = reading(device);
  await runtime.deploy(flow('lamp=#'), 'nodes');
  await (await connect('lamp', ports[0])).subscribeAsync('#');
  expect(control).toEqual([]);
  expect(read).toEqual(['t 1']);
});
