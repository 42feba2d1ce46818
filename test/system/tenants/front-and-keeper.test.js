'use strict';
// The front with the real keeper, whose tenants are processes: wake, burst, commands back, kill -9 of the keeper.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { Child } = require('../../../bench/harness/child');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { askJson } = require('../../fixtures/tenants/ask');
const { RED, frontFlow, makeUser, startRed, tenantFlow } = require('../../fixtures/tenants/process-keeper');

jest.setTimeout(120000);

const KEEPER = path.join(__dirname, '../../../docker/tenants/main.js');
const LONG = { timeoutMs: 60000 };
/** Text of a function node. */
const FAILED = "node.warn('failed: ' + msg.error.message);";

/** @type {string} */
let home;
/** @type {Child} */
let keeper;
/** @type {Child} */
let front;
/** @type {number} */
let port;

const environment = () => ({ ...process.env, SEGANET_HOME: home });
async function startKeeper() {
  keeper = new Child(process.execPath, [KEEPER, 'run'], { env: environment(), name: 'keeper' });
  await keeper.until((output) => output.includes('listens on'), 30000);
}

beforeAll(async () => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-f-'));
  port = await freePort();
  const user = path.join(home, 'acme');
  const flow = tenantFlow('${SEGANET_TENANT_PORT}', path.join(home, 'arrived.ndjson'), 'acme').map((each) =>
    each.id === 'in'
      ? {
          ...each,
          host: '${SEGANET_TENANT_HOST}',
          login: 'passwords',
          identity: 'user',
          passwordFile: '${SEGANET_TENANT_PASSWORDS}'
        }
      : each
  );
  // Records of these devices are answered by a command: to pump-9, and to no device, which the front refuses.
  const reply =
    "const topics = { 'pump-9': 'pump-9/seen', 'pump-7': '/lost' }; if (!topics[msg.deviceId]) return null; return { deviceId: 'front', topic: topics[msg.deviceId], payload: String(msg.payload.n), qos: 1 };";
  const place = { z: 'tab', x: 1, y: 1 };
  flow.find(({ id }) => id === 'unbatch').wires[0].push('reply');
  flow.push(
    {
      id: 'reply',
      type: 'function',
      ...place,
      func: reply,
      outputs: 1,
      libs: [],
      wires: [['command']]
    },
    { id: 'command', type: 'seganet-command', ...place, engine: 'engine', wires: [[]] },
    { id: 'catch', type: 'catch', ...place, scope: ['command'], wires: [['failed']] },
    { id: 'failed', type: 'function', ...place, func: FAILED, outputs: 0, libs: [], wires: [[]] }
  );
  makeUser(user, flow);
  const command = [process.execPath, RED, '--userDir', user, '--settings', path.join(user, 'settings.js')];
  const times = { idleMs: 1000, stopMs: 1000, warm: false };
  // A thread reserves much more memory than it uses.
  const tenant = { name: 'acme', driver: 'process', command, limits: { memoryMiB: 4096 }, ...times };
  fs.mkdirSync(path.join(home, 'tenants'), { mode: 0o700 });
  const file = path.join(home, 'tenants', 'tenants.json');
  fs.writeFileSync(file, JSON.stringify({ version: 1, tenants: [tenant] }));
  const socket = path.join(home, 'tenants', 'keeper.sock');
  makeUser(path.join(home, 'front'), frontFlow({ port, file, socket }));
  front = startRed(path.join(home, 'front'), 'front');
  await waitForPort(port, '127.0.0.1', 60000, () => Boolean(front.exit));
  await startKeeper();
});
afterAll(async () => {
  await front?.stop('SIGTERM');
  await keeper?.stop('SIGKILL');
  const remove = new Child(process.execPath, [KEEPER, 'remove', 'acme', '--delete-data'], {
    env: environment()
  });
  await remove.exited;
  fs.rmSync(home, { recursive: true, force: true });
});

/** Asks the keeper to stop a tenant that nobody uses. @param {string} name @returns {Promise<number>} HTTP status */
async function sleep(name) {
  return (await askKeeper('POST', `/v1/tenants/${name}/sleep`)).status;
}

/** @param {string} method @param {string} where */
function askKeeper(method, where) {
  return askJson({ socketPath: path.join(home, 'tenants', 'keeper.sock'), method, path: where });
}

/** @param {string} name @returns {Promise<any>} its row of the keeper's list */
async function rowOf(name) {
  const { body } = await askKeeper('GET', '/v1/tenants');
  return body.tenants.find((/** @type {any} */ row) => row.name === name);
}

/** @returns {number[]} */
function got() {
  const file = path.join(home, 'arrived.ndjson');
  if (!fs.existsSync(file)) return [];
  const lines = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line).p.n);
}

/** @returns {string} what the tenant's gateway wrote */
function tenantOutput() {
  const file = path.join(home, 'tenants', 'state', 'acme', 'output.log');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
}

const upTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);

test('wakes a tenant by its first record, and delivers all once and in order when the keeper is killed', async () => {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: 'acme.pump-1', protocolVersion: 5 });
  client.on('error', () => {});
  try {
    await eventually(() => client.connected, LONG);
    const send = (/** @type {number} */ n) => client.publishAsync('t', JSON.stringify({ n }), { qos: 1 });
    await send(0);
    expect(got()).toEqual([]);
    await eventually(() => got().length === 1, LONG);
    await Promise.all(upTo(300).slice(1).map(send));
    await eventually(() => got().length === 300, LONG);
    keeper.kill('SIGKILL');
    await keeper.exited;
    await Promise.all(upTo(600).slice(300).map(send));
    await startKeeper();
    await eventually(() => got().length === 600, LONG);
    expect(got()).toEqual(upTo(600));
    // The keeper has waited for the front, which asks for another lease, and gives that one back.
    await eventually(async () => (await sleep('acme')) === 200, LONG);
    expect(keeper.output).toMatch(/acme: stopped asked/);
    await send(600);
    await eventually(() => got().length === 601, LONG);
  } finally {
    client.end(true);
  }
});

test('passes commands to devices of the tenant only', async () => {
  /** @type {string[]} */
  const seen = [];
  const device = (/** @type {string} */ clientId) => mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId });
  // The front's device id has the tenant, which a rule at the listener adds; here the id itself.
  const [own, other] = [device('acme:pump-9'), device('b:pump-9')];
  try {
    for (const client of [own, other]) {
      client.on('error', () => {});
      client.on('message', (topic, payload) => seen.push(`${topic} ${payload}`));
      await eventually(() => client.connected, LONG);
    }
    await own.subscribeAsync('cmd/acme:pump-9/#', { qos: 1 });
    await other.subscribeAsync('cmd/b:pump-9/#', { qos: 1 });
    const press = device('acme.pump-9');
    await eventually(() => press.connected, LONG);
    await press.publishAsync('t', '{"n":601}', { qos: 1 });
    press.end(true);
    await eventually(() => seen.length > 0, LONG);
    expect(seen).toEqual(['cmd/acme:pump-9/seen 601']);
  } finally {
    own.end(true);
    other.end(true);
  }
});

test('delivers what waited for a tenant that failed, was repaired and woken, without another record', async () => {
  await eventually(async () => (await sleep('acme')) === 200, LONG);
  const settings = path.join(home, 'acme', 'settings.js');
  const good = fs.readFileSync(settings);
  fs.writeFileSync(settings, 'throw new Error("broken");');
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: 'acme.pump-3', protocolVersion: 5 });
  client.on('error', () => {});
  await eventually(() => client.connected, LONG);
  await client.publishAsync('t', '{"n":603}', { qos: 1 });
  client.end(true);
  // After the third failure, the keeper refuses leases for 45 s.
  await eventually(async () => (await rowOf('acme')).failures === 3, LONG);
  fs.writeFileSync(settings, good);
  expect((await askKeeper('POST', '/v1/tenants/acme/wake')).status).toBe(200);
  await eventually(() => got().includes(603), { timeoutMs: 5000 });
});

test('reports to the flow of a tenant that the front did not keep its command', async () => {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: 'acme.pump-7', protocolVersion: 5 });
  client.on('error', () => {});
  try {
    await eventually(() => client.connected, LONG);
    await client.publishAsync('t', '{"n":602}', { qos: 1 });
    await eventually(() => tenantOutput().includes('failed: '), LONG);
    expect(tenantOutput()).toContain('The command was refused. The device refused the command.');
  } finally {
    client.end(true);
  }
});
