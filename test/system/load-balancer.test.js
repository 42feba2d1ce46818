'use strict';
// Two gateways behind HAProxy, as docs/use/load-balancer.md describes it.

const path = require('node:path');
const mqtt = require('mqtt');
const { Child } = require('../../bench/harness/child');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { receive } = require('../fixtures/devices/device');

const { test } = needs('mosquitto', 'haproxy');

jest.setTimeout(60000);

const COUNT = 60;
const ROOT = path.join(__dirname, '../..');
const CONFIG = path.join(ROOT, 'docker/cluster/haproxy.cfg');
const RUN = [path.join(ROOT, 'native/node/run.js'), path.join(ROOT, 'flows/cli/seganet-gateway.js')];

/** @type {{ stop(): Promise<any> }[]} */
const open = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

/** @param {import('../../bench/harness/cloud').Cloud} cloud @param {string} gatewayId */
async function start(cloud, gatewayId) {
  const editorPort = await freePort();
  const env = {
    SEGANET_EDITOR_PORT: String(editorPort),
    SEGANET_DEVICE_PROXIES: '127.0.0.0/8',
    SEGANET_ACKNOWLEDGE: 'stored'
  };
  const gateway = await startGateway(cloud, { gatewayId, env });
  open.push(gateway);
  const get = (/** @type {string} */ page) => fetch(`http://127.0.0.1:${editorPort}/seganet/${page}`);
  const agents = async () => {
    const list = (await (await get('engines/seganet-engine-1/agents?limit=100')).json()).agents;
    return new Map(list.filter(({ connected }) => connected).map(({ device, address }) => [device, address]));
  };
  return { gateway, editorPort, get, agents };
}

/** Two gateways behind HAProxy, and devices that have connected through it. */
async function startAll() {
  const cloud = await startCloud();
  open.push({ stop: () => cloud.close() });
  const [a, b] = [await start(cloud, 'gw-a'), await start(cloud, 'gw-b')];
  const port = await freePort();
  const env = {
    ...process.env,
    LISTEN: `127.0.0.1:${port}`,
    GATEWAY_A: `127.0.0.1:${a.gateway.port}`,
    GATEWAY_B: `127.0.0.1:${b.gateway.port}`,
    STATUS_A: String(a.editorPort),
    STATUS_B: String(b.editorPort)
  };
  open.push(new Child('haproxy', ['-q', '-f', CONFIG], { env }));
  await waitForPort(port, '127.0.0.1', 10000);
  const devices = await Promise.all(
    Array.from({ length: COUNT }, async (_, number) => {
      const options = {
        clientId: `dev-${number}`,
        reconnectPeriod: 100,
        protocolVersion: /** @type {5} */ (5)
      };
      const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, options);
      open.push({ stop: () => device.endAsync(true) });
      return device;
    })
  );
  return { cloud, a, b, devices };
}

test('the client id chooses the gateway, addresses stay true, and devices of a lost gateway come back at the other', async () => {
  const { a, b, devices } = await startAll();
  /** The address of each device by its own words. */
  const own = new Map(
    devices.map((device, number) => {
      const { localAddress, localPort } = /** @type {import('node:net').Socket} */ (device.stream);
      return [`dev-${number}`, `${localAddress}:${localPort}`];
    })
  );
  const [atA, atB] = [await a.agents(), await b.agents()];
  expect(new Map([...atA, ...atB])).toEqual(own);
  expect(Math.min(atA.size, atB.size)).toBeGreaterThan(COUNT / 6);

  // The next connection of each device is at the same gateway.
  await Promise.all(
    devices.map((device) => {
      const again = new Promise((resolve) => device.once('connect', resolve));
      device.stream.destroy();
      return again;
    })
  );
  const [againA, againB] = await eventually(
    async () => {
      const both = [await a.agents(), await b.agents()];
      const addresses = new Map(both.flatMap((agents) => [...agents]));
      return addresses.size === COUNT && [...addresses].every(([id, at]) => own.get(id) !== at) && both;
    },
    { timeoutMs: 5000, what: 'all devices again' }
  );
  expect([...againA.keys()].sort()).toEqual([...atA.keys()].sort());

  await a.gateway.child.stop('SIGKILL');
  await Promise.all(
    devices.map((device, number) => device.publishAsync(`d/dev-${number}/t`, '1', { qos: 1 }))
  );
  await eventually(async () => (await b.agents()).size === COUNT, { timeoutMs: 10000, what: 'all at b' });
  // Those of b have kept their connections.
  const after = await b.agents();
  for (const [device, address] of againB) expect([device, after.get(device)]).toEqual([device, address]);
});

test('drain hands the devices over at its rate, says where to, and loses nothing', async () => {
  const { cloud, a, b, devices } = await startAll();
  const receiver = await receive(cloud);
  open.push({ stop: () => receiver.close() });
  const [atA, atB] = [await a.agents(), await b.agents()];
  /** @type {{ at: number, reasonCode: number, server: string }[]} */
  const told = [];
  for (const device of devices)
    device.on('disconnect', ({ reasonCode = 0, properties }) =>
      told.push({ at: performance.now(), reasonCode, server: String(properties?.serverReference) })
    );
  let isOver = false;
  /** @type {Set<string>} */
  const acknowledged = new Set();
  const load = devices.map(async (device, number) => {
    for (let value = 0; !isOver; value++) {
      await device.publishAsync(`d/dev-${number}/t`, String(value), { qos: 1 });
      acknowledged.add(`dev-${number} ${value}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  const rate = 10;
  const options = [
    'drain',
    '--home',
    a.gateway.home,
    '--rate',
    String(rate),
    '--to',
    'gw-b.example:1883',
    '--json'
  ];
  const drain = new Child(process.execPath, [...RUN, ...options]);
  const { code } = await drain.exited;
  expect([code, drain.output]).toEqual([
    0,
    expect.stringMatching(/"done":true,"devices":0,"moved":\d+,"records":0/)
  ]);
  expect((await a.get('healthz?draining=404')).status).toBe(404);
  expect((await (await a.get('readyz')).json()).reason).toBe('The gateway hands its devices over to others.');
  await eventually(async () => (await b.agents()).size === COUNT, { timeoutMs: 10000, what: 'all at b' });
  isOver = true;
  await Promise.all(load);
  // A connection that was not yet drained is not one that the balancer cut.
  expect(told).toHaveLength(atA.size);
  expect(new Set(told.map(({ reasonCode, server }) => `${reasonCode} ${server}`))).toEqual(
    new Set(['156 gw-b.example:1883'])
  );
  expect(told[told.length - 1].at - told[0].at).toBeGreaterThan(((atA.size - 1) / rate - 1) * 1000 * 0.8);
  const after = await b.agents();
  for (const [device, address] of atB) expect([device, after.get(device)]).toEqual([device, address]);
  const arrived = () => new Set(receiver.records().map(({ d, p }) => `${d} ${p}`));
  await eventually(() => acknowledged.difference(arrived()).size === 0, {
    timeoutMs: 10000,
    what: 'all records'
  });
});
