'use strict';
// Two gateways behind HAProxy, as docs/use/load-balancer.md describes it.

const path = require('node:path');
const mqtt = require('mqtt');
const { Child } = require('../../bench/harness/child');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { test } = needs('mosquitto', 'haproxy');

jest.setTimeout(60000);

const COUNT = 60;
const CONFIG = path.join(__dirname, '../../docker/cluster/haproxy.cfg');

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
  const agents = async () => {
    const url = `http://127.0.0.1:${editorPort}/seganet/engines/seganet-engine-1/agents?limit=100`;
    const list = (await (await fetch(url)).json()).agents;
    return new Map(list.filter(({ connected }) => connected).map(({ device, address }) => [device, address]));
  };
  return { gateway, agents };
}

test('the client id chooses the gateway, addresses stay true, and devices of a lost gateway come back at the other', async () => {
  const cloud = await startCloud();
  open.push({ stop: () => cloud.close() });
  const [a, b] = [await start(cloud, 'gw-a'), await start(cloud, 'gw-b')];
  const port = await freePort();
  const env = {
    ...process.env,
    LISTEN: `127.0.0.1:${port}`,
    GATEWAY_A: `127.0.0.1:${a.gateway.port}`,
    GATEWAY_B: `127.0.0.1:${b.gateway.port}`
  };
  open.push(new Child('haproxy', ['-q', '-f', CONFIG], { env }));
  await waitForPort(port, '127.0.0.1', 10000);

  /** @type {Map<string, string>} the address of each device by its own words */
  const own = new Map();
  const devices = await Promise.all(
    Array.from({ length: COUNT }, async (_, number) => {
      const clientId = `dev-${number}`;
      const options = { clientId, reconnectPeriod: 100 };
      const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, options);
      open.push({ stop: () => device.endAsync(true) });
      const { localAddress, localPort } = /** @type {import('node:net').Socket} */ (device.stream);
      own.set(clientId, `${localAddress}:${localPort}`);
      return device;
    })
  );
  const [atA, atB] = [await a.agents(), await b.agents()];
  expect(new Map([...atA, ...atB])).toEqual(own);
  expect(Math.min(atA.size, atB.size)).toBeGreaterThan(COUNT / 6);

  await a.gateway.child.stop('SIGKILL');
  await Promise.all(
    devices.map((device, number) => device.publishAsync(`d/dev-${number}/t`, '1', { qos: 1 }))
  );
  await eventually(async () => (await b.agents()).size === COUNT, { timeoutMs: 10000, what: 'all at b' });
  // Those of b have kept their connections.
  const after = await b.agents();
  for (const [device, address] of atB) expect([device, after.get(device)]).toEqual([device, address]);
});
