'use strict';
// Backup and restore of a tenant that is a gateway: its log is in use, and every acknowledged record is in the backup.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const mqtt = require('mqtt');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { askJson } = require('../../fixtures/tenants/ask');

const ROOT = path.join(__dirname, '..', '..', '..');
const MAIN = path.join(ROOT, 'docker', 'tenants', 'main.js');
const GATEWAY = path.join(ROOT, 'flows', 'launcher', 'start.js');
const isRoot = process.getuid?.() === 0;
const { test: withNamespace } = needs('unshare', 'nsenter', 'ip', ...(isRoot ? [] : ['root']));
const FLOW = [
  { id: 'tab', type: 'tab', label: 'tenant' },
  { id: 'gw', type: 'seganet-engine', workers: '1', acknowledge: 'stored' },
  { id: 'cloud', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
  {
    id: 'in',
    z: 'tab',
    x: 0,
    y: 0,
    type: 'seganet-mqtt-devices',
    engine: 'gw',
    login: 'passwords',
    host: '${SEGANET_DEVICE_HOST}',
    port: '${SEGANET_MQTT_PORT}',
    passwordFile: '${SEGANET_DEVICE_PASSWORD_FILE}',
    wires: [['out']]
  },
  { id: 'out', z: 'tab', x: 0, y: 0, type: 'seganet-uplink', engine: 'gw', broker: 'cloud', wires: [] }
];

jest.setTimeout(240_000);
/** @type {string} */
let root;
/** @type {import('node:child_process').ChildProcess | null} */
let keeper = null;
beforeEach(() => (root = fs.mkdtempSync(path.join(os.tmpdir(), 'sg-'))));
afterEach(async () => {
  keeper?.kill('SIGTERM');
  await new Promise((resolve) => (keeper ? keeper.once('exit', resolve) : resolve(0)));
  keeper = null;
  fs.rmSync(root, { recursive: true, force: true });
});

/** @param {string} home */
const environment = (home) => {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  return { ...Object.fromEntries(clean), SEGANET_HOME: path.join(root, home) };
};

/**
 * @param {string} home
 * @param {...string} args
 * @returns {Promise<{ code: number | null, out: string, err: string }>}
 */
function run(home, ...args) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: environment(home) });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => (out += part));
  child.stderr.on('data', (part) => (err += part));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

/**
 * @param {string} socketPath
 * @param {string} method
 * @param {string} url
 * @param {object} [body]
 * @returns {Promise<any>}
 */
const ask = async (socketPath, method, url, body) =>
  (await askJson({ socketPath, method, path: url }, body)).body;

withNamespace('keeps every acknowledged record of a gateway, here and on another machine', async () => {
  const command = ['/usr/bin/env', 'SEGANET_UPLINK_URL=mqtt://127.0.0.1:1', process.execPath, GATEWAY];
  expect(await run('a', 'add', 'acme', '--http', '8080', '--', ...command)).toMatchObject({ code: 0 });
  const tenants = path.join(root, 'a', 'tenants');
  const volume = path.join(tenants, 'volumes', 'acme');
  fs.writeFileSync(path.join(volume, 'gateway.json'), JSON.stringify(FLOW), { mode: 0o600 });
  keeper = spawn(process.execPath, [MAIN, 'run', '--stop-tenants'], {
    env: environment('a'),
    stdio: 'ignore'
  });
  const socket = path.join(tenants, 'keeper.sock');
  await eventually(() => fs.existsSync(socket), { timeoutMs: 30_000 });
  const want = { reason: 'operator', class: 3, holder: 'test' };
  const lease = await ask(socket, 'POST', '/v1/tenants/acme/lease', want);
  expect(lease).toMatchObject({ user: 'front', port: 1883 });
  const { host, user: username, password } = lease;
  const device = await mqtt.connectAsync(`mqtt://${host}:1883`, {
    clientId: 'front',
    username,
    password,
    reconnectPeriod: 0
  });
  const publish = async (/** @type {number} */ count) => {
    await Promise.all(
      Array.from({ length: count }, (_, i) => device.publishAsync('level', `${i}`, { qos: 1 }))
    );
  };
  await publish(300);

  const first = await run('a', 'snapshots', 'take', '--gateway', `http://${host}:8080`);
  // The keeper logs in, too, to see whether the tenant is ready.
  expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/2 devices, \d+ links/) });

  const secret = path.join(root, 'passphrase');
  fs.writeFileSync(secret, 'correct horse battery\n');
  const saved = await run('a', 'backup', 'acme', '--passphrase-file', secret, '--json');
  expect(saved).toMatchObject({ code: 0, err: '' });
  const made = JSON.parse(saved.out);
  expect(made).toMatchObject({ ok: true, warnings: [] });
  expect(made.databases).toBeGreaterThanOrEqual(1);
  expect(await ask(socket, 'POST', '/v1/tenants/acme/backup', {})).toEqual({});
  const { tenants: rows } = await ask(socket, 'GET', '/v1/tenants');
  expect(rows[0].backup).toMatchObject({ at: expect.any(Number), ok: true, reason: '' });
  await publish(50);
  await device.endAsync();
  const stored = async () => {
    const { engines } = await ask(path.join(volume, 'gateway.sock'), 'GET', '/status');
    return engines[0].records.stored;
  };
  expect(await stored()).toBe(350);
  await run('a', 'snapshots', 'take', '--gateway', `http://${host}:8080`);
  expect((await run('a', 'snapshots', 'diff')).out).toMatch(/~ device gw \/ front: connected true → false/);

  // On another machine, where no keeper runs.
  fs.mkdirSync(path.join(root, 'b', 'tenants'), { recursive: true });
  fs.copyFileSync(path.join(tenants, 'tenants.json'), path.join(root, 'b', 'tenants', 'tenants.json'));
  const options = ['restore', 'acme', '--from', made.file, '--passphrase-file', secret];
  const elsewhere = await run('b', ...options);
  expect(elsewhere).toMatchObject({
    code: 0,
    out: expect.stringMatching(/started from it without a network and was healthy/)
  });
  const flow = (/** @type {string} */ home) =>
    path.join(root, home, 'tenants', 'volumes', 'acme', 'gateway.json');
  expect(fs.readFileSync(flow('b'), 'utf8')).toBe(fs.readFileSync(flow('a'), 'utf8'));
  expect(fs.readdirSync(path.join(root, 'b', 'tenants', 'volumes'))).toEqual(['acme']);

  // Here, under a keeper that runs the tenant.
  const restored = await run('a', ...options);
  expect(restored).toMatchObject({ code: 0, err: '' });
  expect(fs.readdirSync(path.join(tenants, 'volumes'))).toEqual(['acme']);
  expect(await stored()).toBe(300);

  const bytes = fs.readFileSync(made.file);
  bytes[bytes.length >> 1] ^= 1;
  fs.writeFileSync(made.file, bytes);
  const refused = await run('a', ...options, '--check');
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/it is damaged.*Nothing was changed/)
  });
  expect(await stored()).toBe(300);
});
