'use strict';
// CoAP over UDP behind docker/cluster/coap-hash.js, set up as docs/use/load-balancer.md describes it.

const path = require('node:path');
const { obstacle } = require('../../bench/harness/netns');
const { needs } = require('../../bench/harness/tools');
const { Lan } = require('../fixtures/network/lan');

const { test } = needs('nft', ...(obstacle() ? ['root'] : []));
jest.setTimeout(60000);

const HASH = path.join(__dirname, '../../docker/cluster/coap-hash.js');
const SERVER = path.join(__dirname, '../fixtures/pair/ready-server.js');
const CROWD = path.join(__dirname, '../fixtures/network/coap-crowd.js');
const ADDRESS = '10.0.0.10';
const COUNT = 500;

/** @type {Lan} */
let lan;
afterEach(() => lan?.close());

test('each device has its gateway, answers come from the common address, and only devices of a gateway that leaves move', async () => {
  lan = await Lan.open();
  const front = await lan.join('front', '10.0.0.1/24');
  front.run('ip', 'addr', 'add', `${ADDRESS}/24`, 'dev', 'eth0');
  front.run('sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward');
  const addresses = ['10.0.0.21', '10.0.0.22', '10.0.0.23', '10.0.0.24'];
  /** @type {Map<string, number>} */
  const pids = new Map();
  for (const address of addresses) {
    const machine = await lan.join(`gw${address.slice(-2)}`, `${address}/24`);
    machine.run('ip', 'route', 'add', 'default', 'via', '10.0.0.1', 'table', '83');
    machine.run('ip', 'rule', 'add', 'ipproto', 'udp', 'sport', '5683-5684', 'lookup', '83');
    const server = machine.start(process.execPath, [SERVER, address]);
    await server.until((output) => output.includes('ready'));
    process.kill(server.pid, 'SIGUSR1');
    pids.set(address, server.pid);
  }
  // Behind a router of its own: any address of the network is one of this machine.
  const crowd = await lan.join('crowd', '10.0.0.50/24');
  crowd.run('ip', 'route', 'add', 'local', '10.1.0.0/16', 'dev', 'lo');
  front.run('ip', 'route', 'add', '10.1.0.0/16', 'via', '10.0.0.50');

  const env = { ...process.env, ADDRESS, GATEWAYS: addresses.join() };
  const hash = front.start(process.execPath, [HASH], { env });
  await hash.until((output) => output.includes(addresses.join(', ')));

  /** @returns {Record<string, string>} the gateway by the address of the device */
  const gatewaysOf = () => JSON.parse(crowd.run(process.execPath, CROWD, ADDRESS, String(COUNT)));
  const before = gatewaysOf();
  expect(new Set(Object.values(before))).toEqual(new Set(addresses));

  const [gone, ...rest] = addresses;
  process.kill(/** @type {number} */ (pids.get(gone)), 'SIGUSR1');
  await hash.until((output) => output.includes(`go to ${rest.join(', ')}.`));
  const after = gatewaysOf();
  const moved = Object.keys(before).filter((device) => before[device] !== after[device]);
  expect(moved).toEqual(Object.keys(before).filter((device) => before[device] === gone));
  expect(moved.length / COUNT).toBeLessThanOrEqual(1.1 / addresses.length);
  expect(new Set(Object.values(after))).toEqual(new Set(rest));
});
