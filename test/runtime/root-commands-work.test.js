'use strict';
// Root runs the commands of the package in the folder of a user without rights: each works, and what it leaves there
// belongs to that user, whose gateway goes on with it.

const fs = require('node:fs');
const path = require('node:path');
const { freePort } = require('../../bench/harness/net');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { AS_USER, UID, asRoot, asUser, give, isReadable, newStage, ownersIn } = require('./hostile-owner');
const { ROOT, run, until, cleanEnvironment, cleanUp } = require('./process');

const isRoot = process.getuid?.() === 0;
const why = !isRoot
  ? 'only root can run commands in the folder of another user'
  : isReadable()
    ? ''
    : `another user cannot read ${ROOT}`;
if (why) console.warn(`Skipped: ${why}.`);
/** @type {jest.It} */
const ofRoot = why ? test.skip : test;

const GATEWAY = path.join(ROOT, 'flows/cli/seganet-gateway.js');
jest.setTimeout(120_000);

/** @type {ReturnType<typeof newStage>} */
let stage;
beforeEach(() => {
  if (!why) stage = newStage();
});
afterEach(async () => {
  await cleanUp();
  if (!why) stage.remove();
});

/** Makes a gateway's folder as root. @param {string} home */
async function newHome(home) {
  expect(asRoot('seganet-gateway', 'init', '--home', home)).toMatchObject({ code: 0 });
  const settings = {
    SEGANET_MQTT_PORT: await freePort(),
    SEGANET_EDITOR_PORT: 'off',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
    SEGANET_LOG_MIB: 64
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
  fs.appendFileSync(path.join(home, 'gateway.env'), lines.join(''));
}

/** Starts the gateway as its user, and waits until it works except for the uplink. @param {string} home */
async function startAsUser(home) {
  const args = [AS_USER, String(UID), GATEWAY, 'start', '--home', home];
  const gateway = run(process.execPath, args, { env: cleanEnvironment() });
  await until(() => fs.existsSync(path.join(home, 'gateway.sock')), {
    within: 60_000,
    what: () => gateway.output
  });
  await until(() => JSON.parse(asRoot('seganet-gateway', 'status', '--json', '--home', home).output).ready, {
    within: 60_000,
    what: () => gateway.output
  });
  return gateway;
}

ofRoot('lets the gateway of the user work before and after a backup and a restore by root', async () => {
  const home = path.join(stage.user, 'gw');
  await newHome(home);
  expect(ownersIn(home)).toEqual([UID]);
  expect(asRoot('seganet-gateway', 'check', '--home', home)).toMatchObject({ code: 0 });
  const first = await startAsUser(home);
  const file = path.join(stage.root, 'a.backup');
  expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/a\.backup: \d+ files, 1 log,/)
  });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--force')).toMatchObject({
    code: 3,
    output: expect.stringMatching(/is running\. Stop it/)
  });
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--force')).toMatchObject({ code: 0 });
  expect(ownersIn(stage.user)).toEqual([UID]);

  const logs = path.join(home, 'seganet-log');
  const log = path.join(logs, fs.readdirSync(logs)[0]);
  for (const args of [['inspect'], ['verify'], ['repair'], ['dump'], ['dead']]) {
    expect(asRoot('seganet-log', ...args, log)).toMatchObject({ code: 0 });
  }
  expect(ownersIn(stage.user)).toEqual([UID]);
  const second = await startAsUser(home);
  second.child.kill('SIGTERM');
  expect(await second.ended).toMatchObject({ code: 0 });
});

ofRoot('restores a folder of the user in a folder of root', async () => {
  const home = path.join(stage.stage, 'gw');
  fs.mkdirSync(home, { mode: 0o700 });
  give(home);
  await newHome(home);
  const file = path.join(stage.root, 'a.backup');
  expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({ code: 0 });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home)).toMatchObject({
    code: 3,
    output: expect.stringMatching(/is not empty\. Choose another folder/)
  });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--force')).toMatchObject({ code: 0 });
  expect(ownersIn(home)).toEqual([UID]);
  const names = fs.readdirSync(stage.stage).map((name) => name.replace(/\.before-.*/, '.before'));
  expect(names.sort()).toEqual(['gw', 'gw.before', 'root', 'user']);
  expect(asUser('seganet-gateway', 'check', '--home', home)).toMatchObject({ code: 0 });
});

ofRoot.each(['the user', 'root'])('follows a link of %s to the folder of the gateway', async (owner) => {
  const [data, home] = [path.join(stage.stage, 'data'), path.join(stage.user, 'gw')];
  fs.mkdirSync(data, { mode: 0o700 });
  give(data);
  fs.symlinkSync(data, home);
  if (owner === 'the user') give(home);
  await newHome(home);
  const file = path.join(stage.user, 'a.backup');
  expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({ code: 0 });
  expect(fs.statSync(file)).toMatchObject({ uid: UID, mode: 0o100600 });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--force')).toMatchObject({ code: 0 });
  expect(fs.lstatSync(home).isSymbolicLink()).toBe(true);
  expect(ownersIn(data)).toEqual([UID]);
  expect(asUser('seganet-gateway', 'check', '--home', home)).toMatchObject({ code: 0 });
});

ofRoot('saves the gateway of the user into a folder of a third one, and restores it from there', async () => {
  const home = path.join(stage.user, 'gw');
  await newHome(home);
  const third = path.join(stage.stage, 'third');
  fs.mkdirSync(third, { mode: 0o700 });
  give(third, 12345);
  const file = path.join(third, 'a.backup');
  expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({ code: 0 });
  expect(fs.readdirSync(third)).toEqual(['a.backup']);
  expect(fs.statSync(file)).toMatchObject({ uid: 0, mode: 0o100600 });
  expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--force')).toMatchObject({ code: 0 });
  expect(ownersIn(home)).toEqual([UID]);
});

ofRoot('gives the accounts, passwords and tokens that root adds to the user', async () => {
  const store = path.join(stage.user, 'ocf.db');
  await new SqliteStore(store).close();
  give(store);
  expect(asRoot('seganet-accounts', 'code', 'kim', '--store', store)).toMatchObject({ code: 0 });
  expect(asUser('seganet-accounts', 'users', '--store', store).output).toMatch(/^kim /m);

  const [passwords, secret] = [path.join(stage.user, 'passwords'), path.join(stage.root, 'secret')];
  fs.writeFileSync(secret, 'correct horse\n', { mode: 0o600 });
  const add = ['add', '--password-file', secret, passwords, 'pump-1'];
  expect(asRoot('seganet-passwd', ...add)).toMatchObject({ code: 0 });
  expect(asRoot('seganet-passwd', 'token', path.join(stage.user, 'tokens'), 'pump-1')).toMatchObject({
    code: 0
  });
  expect(asUser('seganet-passwd', 'list', passwords)).toMatchObject({ code: 0, output: 'pump-1\n' });
  expect(ownersIn(stage.user)).toEqual([UID]);
});

ofRoot('keeps the owner of a password file of the user in a folder of root', () => {
  const file = path.join(stage.stage, 'tokens');
  expect(asRoot('seganet-passwd', 'token', file, 'pump-1')).toMatchObject({ code: 0 });
  give(file);
  expect(asRoot('seganet-passwd', 'token', file, 'pump-2')).toMatchObject({ code: 0 });
  expect(fs.statSync(file)).toMatchObject({ uid: UID, mode: 0o100600 });
});

ofRoot('says with whose rights it works if those do not suffice', async () => {
  const file = path.join(stage.user, 'tokens');
  fs.writeFileSync(file, '', { mode: 0o600 });
  expect(asRoot('seganet-passwd', 'token', file, 'pump-1')).toMatchObject({
    code: 3,
    output: expect.stringMatching(/EACCES.* The command works as \S+, who owns \S+user, not as root: /)
  });
});
