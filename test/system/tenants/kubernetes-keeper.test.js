'use strict';
// The command seganet-tenants with the driver kubernetes: what an operator reads.

const fs = require('node:fs');
const path = require('node:path');
const selfsigned = require('selfsigned');
const { eventually } = require('../../../bench/harness/net');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { ask } = require('../../fixtures/tenants/driver-suite');
const command = require('../../fixtures/tenants/keeper-command');
const { KubernetesServer } = require('../../fixtures/tenants/kubernetes-server');

const NAME = 'seganet-tenant-acme';
const ADDRESS = '127.63.0.9';
const { run, keepWith } = command;

jest.setTimeout(60_000);

/** @type {KubernetesServer} */
let server;
beforeEach(async () => {
  const home = command.open();
  const { private: key, cert } = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256'
  });
  server = new KubernetesServer({ key, cert });
  const cluster = {
    server: await server.listen(),
    'certificate-authority-data': Buffer.from(cert).toString('base64')
  };
  const file = path.join(home, 'kubeconfig.json');
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'home' } }],
    clusters: [{ name: 'k', cluster }],
    users: [{ name: 'u', user: { token: 'first' } }]
  };
  fs.writeFileSync(file, JSON.stringify(config));
  process.env.SEGANET_TENANTS_KUBECONFIG = file;
  server.sets.set(NAME, { replicas: 0, args: [], address: ADDRESS });
  await run('add', 'acme', '--driver', 'kubernetes', '--image', DIGEST, '--http', '8080');
  server.policies.set(NAME, JSON.parse((await run('manifest', 'acme')).out).items[2]);
});
afterEach(async () => {
  await command.close();
  delete process.env.SEGANET_TENANTS_KUBECONFIG;
  await server.close();
});

const row = async () => JSON.parse((await run('list', '--json')).out).tenants[0];

test('a tenant wakes, its end is seen after the cluster was away, and it sleeps', async () => {
  await keepWith({});
  expect(await run('wake', 'acme')).toMatchObject({ code: 0 });
  expect(await row()).toMatchObject({ state: 'running', isolated: true });
  await eventually(() => server.watches.size === 1);
  server.status = 503;
  const before = server.requests.length;
  for (const each of server.watches) each.destroy();
  await eventually(() => server.watches.size === 0 && server.requests.length > before);
  server.status = 0;
  // The keeper looks again when the cluster is back.
  await eventually(() => server.watches.size === 1, { timeoutMs: 20_000 });
  await ask(ADDRESS, 'exit/9');
  await eventually(async () => (await row()).reason === 'ended with code 9', { timeoutMs: 20_000 });
  expect(await run('wake', 'acme')).toMatchObject({ code: 0 });
  expect(await run('sleep', 'acme')).toMatchObject({ code: 0 });
  expect(server.pods.size).toBe(0);
  const { out } = await run('remove', 'acme');
  expect(out).toMatch(/the volume claim data-seganet-tenant-acme-0 of its cluster/);
  expect(server.secrets.size).toBe(0);
});

test('a quota that is used up is the reason of the failed start', async () => {
  server.quota = 'pods "seganet-tenant-acme-0" is forbidden: exceeded quota: small';
  await keepWith({});
  const { code, err } = await run('wake', 'acme');
  expect([code, err]).toEqual([1, expect.stringContaining('exceeded quota: small')]);
  const { state, reason } = await row();
  expect([state, reason]).toEqual(['stopped', `the cluster refuses its pod: ${server.quota}`]);
  expect(server.sets.get(NAME)?.replicas).toBe(0);
});

test('a start that takes too long says that no machine has room', async () => {
  server.full = '0/1 nodes are available: 1 Insufficient memory.';
  await keepWith({ SEGANET_TENANTS_READY_MS: '2000' });
  const { code, err } = await run('wake', 'acme');
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(`: the cluster has no machine for it: ${server.full}`)
  ]);
});

test('check names the rights that the account lacks', async () => {
  server.lacking = new Set(['list events', 'get pods/log']);
  const { code, out } = await run('check');
  expect([code, out]).toEqual([
    1,
    expect.stringContaining('The keeper may not get pods/log, list events in the namespace home')
  ]);
});
