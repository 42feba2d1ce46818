'use strict';
// Ports for the servers of tests.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { freePort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const range = fs.readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
const [first, last] = range.trim().split(/\s+/).map(Number);
const several = async () => {
  const ports = [];
  for (let i = 0; i < 1000; i++) ports.push(await freePort());
  return ports;
};

// Where the system gives nearly all ports, none is left beside them.
const { test: besideTheRange } = needs(...(first > 12000 ? [] : ['ip_local_port_range from 12001 on']));
besideTheRange('a free port is none that the system gives to other connections meanwhile', async () =>
  expect((await several()).filter((port) => port >= first && port <= last)).toEqual([])
);

test('no free port is returned twice', async () => expect(new Set(await several()).size).toBe(1000));

test('a free port can be opened, also at another address', async () => {
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const port = await freePort(host);
    const server = net.createServer().listen(port, host);
    await once(server, 'listening');
    server.close();
  }
});

test('an address that is not of this machine has none', () =>
  expect(freePort('192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' }));
