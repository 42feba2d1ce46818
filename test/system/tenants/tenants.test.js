'use strict';
// A front with real gateways as tenants: what the devices had acknowledged arrives in their tenant, whoever is killed.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { ProcessKeeper, frontFlow, makeUser, startRed } = require('../../fixtures/tenants/process-keeper');

jest.setTimeout(120000);

/** @type {string} */
let folder;
/** @type {ProcessKeeper} */
let keeper;
/** @type {import('../../../bench/harness/child').Child} */
let front;
/** @type {number} */
let port;
/** @type {Map<string, mqtt.MqttClient>} */
const devices = new Map();
/** The next number of each device, so that no two tests share one. @type {Map<string, number>} */
const numbers = new Map();

const LONG = { timeoutMs: 60000 };

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenants-'));
  port = await freePort();
  keeper = new ProcessKeeper(path.join(folder, 'tenants'));
  await keeper.open();
  writeTenants('acme', 'b');
  const file = path.join(folder, 'tenants.json');
  makeUser(path.join(folder, 'front'), frontFlow({ port, file, socket: keeper.socket }));
  await startFront();
});
afterAll(async () => {
  for (const client of devices.values()) client.end(true);
  await front?.stop('SIGTERM');
  await keeper?.remove();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {string[]} names */
function writeTenants(...names) {
  const tenants = names.map((name) => ({ name, driver: 'process' }));
  fs.writeFileSync(path.join(folder, 'new'), JSON.stringify({ version: 1, tenants }));
  fs.renameSync(path.join(folder, 'new'), path.join(folder, 'tenants.json'));
}

async function startFront() {
  front = startRed(path.join(folder, 'front'), 'front');
  await waitForPort(port, '127.0.0.1', 60000, () => Boolean(front.exit));
}

/** @param {string} id @returns {Promise<mqtt.MqttClient>} */
async function device(id) {
  const known = devices.get(id);
  const client =
    known ??
    mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: id, protocolVersion: 5, reconnectPeriod: 100 });
  if (!known) client.on('error', () => {});
  devices.set(id, client);
  await eventually(() => client.connected, { ...LONG, what: `${id} is connected` });
  return client;
}

/**
 * Publishes the next numbers of a device.
 * @param {string} id @param {number} count
 * @returns {Promise<number[]>} them, when all are acknowledged
 */
async function send(id, count) {
  const client = await device(id);
  const first = numbers.get(id) ?? 0;
  numbers.set(id, first + count);
  const mine = Array.from({ length: count }, (_, i) => first + i);
  await Promise.all(mine.map((n) => client.publishAsync(`t/${id}`, JSON.stringify({ n }), { qos: 1 })));
  return mine;
}

/** @param {string} tenant @param {string} name @returns {number[]} numbers that the tenant has of a device */
const got = (tenant, name) => keeper.got(tenant).flatMap(({ d, p }) => (d === name ? [p.n] : []));

/** @param {string} name */
const isAsleep = (name) => keeper.leasesOf(name).length === 0;

test('acknowledges the first record of a tenant that does not run, wakes it, and lets it sleep', async () => {
  const client = await device('acme.pump-1');
  numbers.set('acme.pump-1', 1);
  await client.publishAsync('t/acme.pump-1', '{"n":0}', { qos: 1 });
  // The device has its acknowledgement before the tenant can have started.
  expect(keeper.got('acme')).toEqual([]);
  await eventually(() => keeper.got('acme').length === 1, LONG);
  expect(keeper.got('acme')[0]).toMatchObject({
    d: 'pump-1',
    t: 't/acme.pump-1',
    p: { n: 0 },
    c: 3,
    index: 0
  });
  await eventually(() => isAsleep('acme'), LONG);
  expect(keeper.running.has('b')).toBe(false);
});

test('gives each tenant its own records of devices with the same name, all in order', async () => {
  const before = got('acme', 'pump-1').length;
  const names = Array.from({ length: 10 }, (_, i) => `pump-${i + 1}`);
  await Promise.all(names.flatMap((name) => [send(`acme.${name}`, 100), send(`b.${name}`, 100)]));
  const isDone = () => keeper.got('acme').length === 1000 + before && keeper.got('b').length === 1000;
  await eventually(isDone, LONG);
  const upTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);
  for (const name of names) {
    expect(got('b', name)).toEqual(upTo(100));
    expect(got('acme', name)).toEqual(upTo(name === 'pump-1' ? 101 : 100));
  }
  await eventually(() => isAsleep('acme') && isAsleep('b'), LONG);
});

test('loses nothing when the tenant is killed: what arrives twice has the same key', async () => {
  const id = 'acme.press-1';
  const sent = send(id, 1000);
  await eventually(() => got('acme', 'press-1').length > 100, LONG);
  await keeper.end('acme', 'SIGKILL');
  const all = await sent;
  await eventually(() => new Set(got('acme', 'press-1')).size === 1000, LONG);
  const seen = new Set();
  const firsts = keeper.got('acme').flatMap(({ d, p, key, index }) => {
    if (d !== 'press-1' || seen.has(`${key} ${index}`)) return [];
    seen.add(`${key} ${index}`);
    return [p.n];
  });
  expect(firsts).toEqual(all);
});

test('continues when the keeper is killed and comes back', async () => {
  await eventually(() => isAsleep('b'), LONG);
  const first = send('b.press-1', 300);
  await eventually(() => keeper.leasesOf('b').length === 1, LONG);
  await keeper.close();
  await first;
  await send('acme.valve-1', 100);
  await send('b.press-1', 300);
  await keeper.open();
  await eventually(() => got('b', 'press-1').length === 600 && got('acme', 'valve-1').length === 100, LONG);
  expect(got('b', 'press-1')).toEqual(Array.from({ length: 600 }, (_, i) => i));
});

test('delivers what the log holds, once, after the front was killed while its tenants slept', async () => {
  // A keeper that was killed has forgotten leases which the front still uses: their processes end too. Without the
  // keeper, nobody starts them again.
  await keeper.close();
  await Promise.all([keeper.end('acme'), keeper.end('b')]);
  await send('acme.robot-1', 500);
  await send('b.robot-1', 500);
  expect([got('acme', 'robot-1'), got('b', 'robot-1')]).toEqual([[], []]);
  front.kill('SIGKILL');
  await front.stop('SIGKILL');
  for (const client of devices.values()) client.end(true);
  devices.clear();
  await keeper.open();
  await startFront();
  await eventually(() => got('acme', 'robot-1').length >= 500 && got('b', 'robot-1').length >= 500, LONG);
  await eventually(() => isAsleep('acme') && isAsleep('b'), LONG);
  const all = Array.from({ length: 500 }, (_, i) => i);
  expect(got('acme', 'robot-1')).toEqual(all);
  expect(got('b', 'robot-1')).toEqual(all);
  const fromLog = keeper.got('acme').filter(({ d }) => d === 'robot-1');
  expect(fromLog.map(({ h }) => h)).toEqual(all.map(() => true));
});

test('follows the tenants file while records flow, and keeps the records of a tenant that was removed', async () => {
  let isOver = false;
  const flow = (async () => {
    while (!isOver) await send('acme.mixer-1', 20);
  })();
  await eventually(() => got('acme', 'mixer-1').length > 40, LONG);
  keeper.broken.add('b');
  await send('b.mixer-1', 50);
  writeTenants('acme', 'c');
  // The new one takes records; the other one's are refused.
  await eventually(
    async () => {
      const client = await device('c.pump-1');
      const { reasonCode = 0 } = /** @type {any} */ (
        await client
          .publishAsync('t', '{"n":0}', { qos: 1 })
          .catch((error) => ({ reasonCode: error.code ?? 1 }))
      );
      return reasonCode === 0;
    },
    { ...LONG, everyMs: 200 }
  );
  await eventually(() => got('c', 'pump-1').length > 0, LONG);
  keeper.broken.clear();
  expect(got('b', 'mixer-1')).toEqual([]);
  writeTenants('acme', 'b', 'c');
  await eventually(() => got('b', 'mixer-1').length === 50, LONG);
  isOver = true;
  await flow;
  const sent = numbers.get('acme.mixer-1') ?? 0;
  await eventually(() => got('acme', 'mixer-1').length === sent, LONG);
  expect(got('acme', 'mixer-1')).toEqual(Array.from({ length: sent }, (_, i) => i));
  expect(got('b', 'mixer-1')).toEqual(Array.from({ length: 50 }, (_, i) => i));
});
