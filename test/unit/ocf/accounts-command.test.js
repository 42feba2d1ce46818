'use strict';
// seganet-accounts as operators run it, beside a running cloud.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { startControlPlane, newFile } = require('../../fixtures/ocf/control-plane');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { userId } = require('../../../nodes/lib/ocf/cloud/tokens');
const { LIGHT, eventually, scenes } = require('../../fixtures/ocf/scenes');

const command = path.join(__dirname, '../../../nodes/lib/ocf/cli/seganet-accounts.js');

jest.setTimeout(120000);
let cloud;
beforeAll(async () => {
  cloud = await startControlPlane();
});
afterAll(() => cloud?.stop());
const { connected } = scenes(() => cloud);

/** @param {string[]} args */
const accounts = (...args) => accountsIn('/none', ...args);

/** @param {string} home @param {string[]} args */
async function accountsIn(home, ...args) {
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...process.env, SEGANET_HOME: home, SEGANET_LOG_DIR: '' }
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  const [status] = await once(child, 'close');
  return { status, stdout, stderr };
}
const here = (...args) => accounts(...args, '--store', cloud.file);

test('a device signs up with a code of the command; users and devices list it; share and delete take effect at once', async () => {
  const code = await here('code', 'alice');
  expect(code).toMatchObject({ status: 0, stderr: expect.stringMatching(/alice.*10 minutes/) });
  const device = await connected();
  expect((await device.signUp(code.stdout.trim())).code).toBe('2.04');
  await device.signIn();
  await device.publish([LIGHT]);
  const guest = await connected();
  await guest.signUp((await here('code', 'bob', '--minutes', '1')).stdout.trim());
  await guest.signIn();

  expect((await here('users')).stdout).toMatch(
    /^user +devices +id\nalice +1 +[0-9a-f-]{36}\nbob +1 +[0-9a-f-]{36}\n$/
  );
  const { users } = JSON.parse((await here('users', '--json')).stdout);
  expect(users.map(({ name, devices }) => [name, devices])).toEqual([
    ['alice', 1],
    ['bob', 1]
  ]);
  const { devices } = JSON.parse((await here('devices', 'alice', '--json')).stdout);
  expect(devices).toEqual([{ di: device.di, user: 'alice', links: 1, name: 'lamp' }]);
  expect((await here('devices')).stdout.split('\n')).toHaveLength(4);

  device.serve = () => ({ body: { on: true } });
  const href = `/oic/route/${device.di}/light/1`;
  const codes = async () => [
    (await guest.request('GET', href)).code,
    (await guest.request('POST', href, { body: {} })).code
  ];
  expect(await codes()).toEqual(['4.03', '4.03']);
  expect((await here('share', device.di, 'bob', 'r')).status).toBe(0);
  await eventually(async () => (await codes())[0] === '2.05', 'the guest reads');
  expect(await codes()).toEqual(['2.05', '4.03']);
  expect((await guest.request('GET', '/oic/res')).value).toHaveLength(1);
  expect((await here('share', device.di, 'bob', 'rw')).status).toBe(0);
  await eventually(async () => (await codes())[1] === '2.05', 'the guest writes');
  const seen = [];
  await guest.request('GET', href, { observe: 0, onNext: (answer) => seen.push(answer.code) });
  expect((await here('share', device.di, 'bob', 'none')).status).toBe(0);
  await eventually(async () => (await codes())[0] === '4.03', 'the guest reads no longer');

  expect((await here('delete', device.di)).status).toBe(0);
  await device.closed;
  expect((await here('delete', 'bob')).stderr).toMatch(/bob was deleted, with 1 device\./);
  await guest.closed;
  expect((await here('users')).stdout).toMatch(/alice +0/);
});

test('--issuer names a user of a provider, who is another one than a user of access codes', async () => {
  const issuer = 'https://accounts.example';
  const code = await here('code', 'auth0|kim', '--issuer', issuer);
  expect(code).toMatchObject({ status: 0 });
  const device = await connected();
  expect((await device.signUp(code.stdout.trim())).code).toBe('2.04');
  expect(device.uid).toBe(userId(issuer, 'auth0|kim'));
  expect((await here('token', 'auth0|kim', '--issuer', issuer)).status).toBe(0);
  const { tokens } = JSON.parse((await here('tokens', device.uid, '--json')).stdout);
  expect(tokens.map(({ user }) => user)).toEqual(['auth0|kim']);
  const own = await here('code', 'auth0|kim');
  expect(own).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(
      /not the auth0\|kim of a provider. For that one, add --issuer https:.*example\./
    )
  });
  const namesOf = async (...args) =>
    JSON.parse((await here('devices', 'auth0|kim', '--json', ...args)).stdout);
  expect(await namesOf()).toEqual({ devices: [] });
  expect(await namesOf('--issuer', issuer)).toMatchObject({ devices: [{ di: device.di }] });
  expect((await here('users')).stdout).toMatch(
    /^user +devices +id +issuer\n(.*\n)*auth0\|kim +1 +[0-9a-f-]{36} +https:\/\/accounts\.example\n/
  );
  expect((await here('delete', 'auth0|kim', '--issuer', issuer)).stderr).toMatch(/deleted, with 1 device/);
  expect(await here('delete', 'auth0|kim', '--issuer', issuer)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/no user of https:\/\/accounts\.example auth0\|kim/)
  });
  expect((await here('delete', 'auth0|kim')).status).toBe(0);
  for (const wrong of ['accounts.example', 'https://a.example/?x', '']) {
    expect(await here('code', 'kim', '--issuer', wrong)).toMatchObject({ status: 2 });
  }
  expect(await here('code', 'a\u0007', '--issuer', issuer)).toMatchObject({ status: 2 });
});

test('makes, fills, lists and deletes groups', async () => {
  await Promise.all(['fay', 'gus'].map((name) => here('code', name)));
  const device = await connected();
  await device.signUp((await here('code', 'fay')).stdout.trim());
  const gid = (await here('group', 'create', 'fay', 'At home')).stdout.trim();
  expect(gid).toMatch(/^[0-9a-f-]{36}$/);
  expect(await here('group', 'share', gid, device.di, 'rw')).toMatchObject({ status: 0 });
  expect((await here('group', 'add', gid, 'gus')).stderr).toMatch(/gus is a member\./);
  const { groups } = JSON.parse((await here('groups', 'gus', '--json')).stdout);
  expect(groups).toMatchObject([
    { gid, name: 'At home', owner: 'fay', devices: [{ di: device.di, rights: 'rw' }] }
  ]);
  expect(groups[0].members.sort()).toEqual(['fay', 'gus']);
  expect((await cloud.store.read('access', { di: device.di })).shares).toMatchObject([{ rights: 'rw' }]);
  expect((await here('groups')).stdout).toMatch(
    /^group +name +owner +members +devices\n.*At home +fay +2 +1\n$/
  );
  expect(await here('group', 'remove', gid, 'fay')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/cannot leave/)
  });
  expect(await here('group', 'share', gid, device.di, 'x')).toMatchObject({ status: 2 });
  expect(await here('group', 'rename', gid)).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/group add GROUP USER;/)
  });
  expect((await here('group', 'delete', gid)).stderr).toMatch(/was deleted; it had 1 device\./);
  expect(await here('group', 'delete', gid)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/no such group/)
  });
  expect((await cloud.store.read('access', { di: device.di })).shares).toEqual([]);
});

test('makes, lists and revokes tokens for HTTP', async () => {
  const made = await here('token', 'dave', '--days', '2');
  expect(made).toMatchObject({ status: 0, stderr: expect.stringMatching(/dave.*2 days.*[0-9a-f]{12}/) });
  expect(made.stdout).toMatch(/^[\w-]{43}\n$/);
  await here('token', 'erin');
  const { tokens } = JSON.parse((await here('tokens', 'dave', '--json')).stdout);
  expect(tokens).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      user: 'dave',
      expires: expect.stringMatching(/^20.*Z$/)
    }
  ]);
  expect((await here('tokens')).stdout).toMatch(/^token +user +expires\n[^]*dave[^]*\n$/);
  expect((await here('revoke', tokens[0].id)).stderr).toMatch(/was revoked/);
  expect(await here('revoke', tokens[0].id)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/no token/)
  });
  expect(JSON.parse((await here('tokens', 'dave', '--json')).stdout).tokens).toEqual([]);
  expect((await here('token', 'dave', '--days', '0')).status).toBe(2);
  expect((await here('tokens', 'nobody')).status).toBe(1);
  expect((await here('delete', 'erin')).status).toBe(0);
  expect(JSON.parse((await here('tokens', '--json')).stdout).tokens).toEqual([]);
});

test('wrong use and unknown names end with a sentence and their exit code', async () => {
  const cases = [
    [['code'], 2, /USER is missing/],
    [['code', 'a b'], 2, /user name/],
    [['code', 'carol', '--minutes', '0'], 2, /--minutes takes/],
    [['devices', 'nobody'], 1, /no user or device nobody/],
    [['delete', randomUUID()], 1, /no user or device/],
    [['share', randomUUID(), 'alice', 'x'], 2, /rights are/],
    [['share', randomUUID(), 'alice', 'r'], 1, /no device/],
    [['users', 'x'], 2, /too many/]
  ];
  await here('code', 'alice');
  for (const [args, status, text] of cases) {
    expect([args, await here(...args)]).toEqual([
      args,
      expect.objectContaining({ status, stderr: expect.stringMatching(text) })
    ]);
  }
  expect(await accounts('users')).toMatchObject({
    status: 3,
    stderr: expect.stringMatching(/There is no database \/none\/ocf.db/)
  });
  expect(await accounts('users', '--store', newFile())).toMatchObject({ status: 3 });
  expect((await accounts('--help')).stdout).toMatch(/^seganet-accounts <command>/);
});

test('without --store, it finds the database in the folder of an engine, and names them if there are several', async () => {
  const home = path.dirname(newFile());
  for (const id of ['one', 'two']) {
    const folder = path.join(home, 'seganet-log', id);
    fs.mkdirSync(folder, { recursive: true });
    await new SqliteStore(path.join(folder, 'ocf.db')).close();
    if (id === 'one') expect(await accountsIn(home, 'users')).toMatchObject({ status: 0 });
  }
  expect(await accountsIn(home, 'users')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/several databases: .*one.ocf\.db, .*two.ocf\.db.*--store/)
  });
});
