'use strict';
// How often the keeper looks whether a tenant is ready.

const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { untilAccepts } = require('../../../docker/tenants/lib/life/readiness');

const HOST = '127.0.0.1';

/** @type {net.Server} */
let server;
let connections = 0;
beforeEach(async () => {
  connections = 0;
  // Like a tenant that does not log anybody in yet.
  server = net.createServer((socket) => {
    connections++;
    socket.on('error', () => {}).destroy();
  });
  await once(server.listen(0, HOST), 'listening');
});
afterEach(() => void server.close());

const portOf = () => /** @type {net.AddressInfo} */ (server.address()).port;

test('tries less often the longer the tenant takes', async () => {
  const over = new AbortController();
  void untilAccepts({ host: HOST, port: portOf(), login: { user: 'keeper', password: 'p' } }, over.signal);
  await sleep(1000);
  over.abort();
  // 20 tries in 0.1 s, 33 until 0.5 s, then 20: a try each 5 ms would be some 180.
  expect(connections).toBeGreaterThan(1);
  expect(connections).toBeLessThan(85);
});

test('is over at the first connection, without a login', async () => {
  await untilAccepts({ host: HOST, port: portOf(), login: null }, new AbortController().signal);
  expect(connections).toBeLessThan(2);
});
