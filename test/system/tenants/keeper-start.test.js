'use strict';
// How a keeper starts and ends: alone, with what it cannot use, and with tenants that do not start.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { identityOf, livingStat, parentsOf } = require('../../../docker/tenants/lib/base/processes');
const command = require('../../fixtures/tenants/keeper-command');
const { PATIENCE } = require('../../../bench/harness/patience');

const { MAIN, PROGRAM, WANT, add, api, endLater, environment, keep, keepWith, run, socket, stateOf } =
  command;

/** @type {string} */
let home;
beforeEach(() => {
  home = command.open();
});
afterEach(command.close);

test('ends and releases its lock if the keeper cannot open its socket', async () => {
  await add();
  fs.mkdirSync(socket());
  const failed = await keep();
  expect(failed.child.exitCode).toBe(1);
  expect(failed.output()).toMatch(/The socket .* cannot be opened/);
  expect(fs.existsSync(path.join(home, 'tenants', 'keeper.lock'))).toBe(false);
  fs.rmdirSync(socket());
  await keep();
  expect((await api('GET', '/v1/tenants')).status).toBe(200);
}, 60_000);

test('serves the other tenants if the cluster of one cannot be used', async () => {
  await add();
  const file = path.join(home, 'tenants', 'tenants.json');
  const { tenants } = JSON.parse(fs.readFileSync(file, 'utf8'));
  const there = { name: 'there', driver: 'kubernetes' };
  fs.writeFileSync(file, JSON.stringify({ version: 1, tenants: [there, ...tenants] }));
  await keepWith({ SEGANET_TENANTS_KUBECONFIG: path.join(home, 'none.json') });
  expect((await api('GET', '/v1/tenants')).body.tenants[0]).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('none.json is not usable')
  });
  expect((await api('POST', '/v1/tenants/acme/lease', WANT)).status).toBe(200);
}, 60_000);

test('wakes other tenants, and ends, while a tenant accepts connections and never answers', async () => {
  await add('--deaf');
  await run('add', 'blue', '--', process.execPath, PROGRAM);
  const { child, ended } = await keepWith({ SEGANET_TENANTS_STARTS: '1' });
  api('POST', '/v1/tenants/acme/lease', WANT).catch(() => {});
  await eventually(async () => (await stateOf()) === 'starting');
  try {
    const began = performance.now();
    expect((await api('POST', '/v1/tenants/blue/lease', WANT)).body).toMatchObject({ how: 'start' });
    expect(performance.now() - began).toBeLessThan(20_000 * PATIENCE);
    expect(await stateOf()).toBe('starting');
    child.kill('SIGTERM');
    const signaled = performance.now();
    expect(await ended).toBe(0);
    expect(performance.now() - signaled).toBeLessThan(10_000 * PATIENCE);
  } finally {
    await run('remove', 'blue', '--delete-data');
  }
}, 60_000);

test('ends if another keeper uses the folder', async () => {
  const first = await keep();
  const second = await keep();
  expect(await second.ended).toBe(1);
  expect(second.output()).toContain(`process ${first.child.pid}`);
  expect((await api('GET', '/v1/tenants')).body).toMatchObject({
    tenants: [],
    spares: { waiting: 0, most: 0 }
  });
}, 60_000);

test('takes over from a killed keeper, once, if two keepers start at the same time', async () => {
  const dead = await keep();
  dead.child.kill('SIGKILL');
  await dead.ended;
  const two = await Promise.all([keep(), keep()]);
  await eventually(() => two.some(({ child }) => child.exitCode !== null));
  expect(two.filter(({ child }) => child.exitCode === null)).toHaveLength(1);
  expect((await api('GET', '/v1/tenants')).status).toBe(200);
}, 60_000);

test('ends in order on a signal directly after it has reported that it listens', async () => {
  for (let round = 0; round < 3; round++) {
    const child = endLater(spawn(process.execPath, [MAIN, 'run'], { env: environment() }));
    child.stderr.on('data', (part) => String(part).includes('listens on') && child.kill('SIGTERM'));
    expect(await new Promise((resolve) => child.once('exit', (...how) => resolve(how)))).toEqual([0, null]);
  }
}, 60_000);

test('keeps a spare for a gateway, which a killed keeper does not leave behind', async () => {
  const refused = await keepWith({ SEGANET_TENANTS_SPARES: '65' });
  expect(await refused.ended).toBe(78);
  expect(refused.output()).toContain('SEGANET_TENANTS_SPARES');
  expect((await run('add', 'acme', '--driver', 'process')).code).toBe(0);
  const { child } = await keep();
  const spares = async () => (await api('GET', '/v1/tenants')).body.spares;
  await eventually(async () => (await spares()).waiting === 1, { timeoutMs: 20_000 });
  expect((await run('list')).out).toMatch(/^spares: 1 of 1, \d+ MiB$/m);
  const [pid] = [...parentsOf()].find(([, parent]) => parent === child.pid) ?? [0];
  const spare = identityOf(pid);
  if (!spare) throw new Error('The keeper has no child.');
  child.kill('SIGKILL');
  await eventually(() => !livingStat(spare), { timeoutMs: 20_000 });
}, 60_000);
