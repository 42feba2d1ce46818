'use strict';
// The tenants node with an engine and a thread in memory, and the tenant events node with a keeper on a socket.

const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TestKeeper } = require('../fixtures/tenants/keeper');
const support = require('./support/gateway');
const {
  helper,
  tab,
  engine,
  node,
  load,
  unload,
  until,
  errors,
  warnings,
  shown,
  engines,
  stores,
  inbox,
  parts
} = support;

const more = ['tenants', 'tenant-events'].map((name) => require(`../../nodes/seganet-${name}`));

/** @type {any[]} */
const made = [];
class TenantsThread extends EventEmitter {
  /** @param {any} options @param {number} token */
  constructor(options, token) {
    super();
    Object.assign(this, { options, token, tenants: new Map(), wanted: [], parted: [] });
    made.push(this);
  }
  /** @param {any[]} tenants */
  serve(tenants) {
    for (const tenant of tenants) this.tenants.set(tenant.name, tenant);
  }
  want(names) {
    this.wanted.push(...names);
  }
  async part(names) {
    this.parted.push(...names);
    for (const name of names) this.tenants.delete(name);
  }
  async stop(timeoutMs) {
    this.stopMs = timeoutMs;
  }
  /** @param {object} counts @param {any[]} [changes] @param {string} [keeperProblem] */
  tell(counts, changes = [], keeperProblem = '') {
    const all = {
      asleep: 0,
      waiting: 0,
      waking: 0,
      connecting: 0,
      awake: 0,
      leaving: 0,
      failed: 0,
      ...counts
    };
    this.emit('state', { counts: all, changes, keeperProblem, totals: {} });
  }
}

/** @type {string} */
let folder;
/** @type {TestKeeper} */
let keeper;

beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenants-node-'));
  keeper = await new TestKeeper().open();
  made.length = 0;
  parts.tenants = { TenantsThread };
});
afterEach(async () => {
  await unload();
  await keeper.remove();
  delete parts.tenants;
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {...(string | object)} tenants */
function write(...tenants) {
  const list = tenants.map((each) => ({
    driver: 'process',
    ...(typeof each === 'string' ? { name: each } : each)
  }));
  fs.writeFileSync(path.join(folder, 'new'), JSON.stringify({ version: 1, tenants: list }));
  fs.renameSync(path.join(folder, 'new'), path.join(folder, 'tenants.json'));
}

const log = () => ({ ...engine, logDir: path.join(folder, 'log') });
const tenants = (/** @type {object} */ properties = {}) =>
  node('tenants', 'seganet-tenants', {
    file: path.join(folder, 'tenants.json'),
    socket: keeper.socket,
    ...properties
  });
/** @param {...object} nodes */
const run = (...nodes) => load([tab, log(), ...nodes], {}, more);
/** @param {string} kind */
const stages = (kind) => engines[0].plan.stages.filter((/** @type {any} */ stage) => stage.kind === kind);

test('divides records by tenant: a split stage, and a batch and an uplink stage for each', async () => {
  write('acme', { name: 'b', limits: { rate: 7, waitingMiB: 2 } });
  await run(
    node('in', 'ingest', {}, 'tenants'),
    tenants({ flush: 'limits', minDevices: '9', maxDelayMs: '77' })
  );
  await until(() => made.length === 1 && made[0].tenants.size === 2);
  const [split] = stages('split');
  expect(split).toMatchObject({ parts: ['acme', 'b'], rates: [0, 7], budgets: [64 << 20, 2 << 20] });
  expect(stages('ingest')[0].next).toEqual([split.id]);
  expect(stages('batch').map(({ id }) => id)).toEqual(split.next);
  expect(stages('batch')[0]).toMatchObject({
    mode: 'envelope',
    minDevices: 9,
    maxDelayMs: 77,
    immediateClass: 1
  });
  const uplinks = stages('uplink');
  expect(uplinks.map(({ name }) => name)).toEqual(['tenant/acme', 'tenant/b']);
  expect([...made[0].tenants.values()]).toEqual(
    uplinks.map(({ id, uplink, name }) => ({ name: name.slice(7), number: uplink, stage: id }))
  );
  expect(made[0].options).toEqual({
    gateway: 'gw1',
    socket: keeper.socket,
    mostAwake: 64,
    idleMs: 5000,
    connectMs: 60000,
    // The largest packet of the engine, and room for topic and properties.
    maxPacketBytes: 262144 + 70000
  });
  expect(errors()).toEqual([]);
});

test('follows the file without a deploy: the stages of tenants that stay are the same', async () => {
  write('acme', 'b');
  await run(node('in', 'ingest', {}, 'tenants'), tenants());
  await until(() => made[0]?.tenants.size === 2);
  const before = stages('uplink');
  write('c', 'b');
  await until(() => made[0].tenants.has('c'));
  expect(made[0].parted).toEqual(['acme']);
  const after = stages('uplink');
  expect(after.find(({ name }) => name === 'tenant/b')).toEqual(before[1]);
  expect(after.map(({ name }) => name)).toEqual(['tenant/c', 'tenant/b']);
  write('acme', 'b');
  await until(() => made[0].tenants.has('acme'));
  expect(stages('uplink')).toEqual(before);
  expect(made).toHaveLength(1);
});

test('keeps the last valid file, shows why another one is not used, and takes no records without any', async () => {
  await run(node('in', 'ingest', {}, 'tenants'), tenants());
  await until(() => shown('tenants')?.text === 'no tenants file');
  expect(shown('in')).toMatchObject({ fill: 'red', text: expect.stringContaining('no tenants file') });
  expect(stages('split')).toEqual([]);
  write('acme');
  await until(() => made[0]?.tenants.size === 1);
  fs.writeFileSync(path.join(folder, 'tenants.json'), '{');
  await until(() => /^file: The file is not JSON/.test(shown('tenants')?.text));
  expect(stages('split')).toMatchObject([{ parts: ['acme'] }]);
});

test('shows how many tenants are awake, and the reason why some are not', async () => {
  write('acme', 'b');
  await run(node('in', 'ingest', {}, 'tenants'), tenants());
  await until(() => made.length === 1);
  made[0].tell({ awake: 3, asleep: 97, waiting: 10, failed: 0, waking: 2 });
  await until(() => shown('tenants')?.text === '3 awake, 97 asleep, 12 waiting');
  expect(shown('tenants').fill).toBe('yellow');
  const row = { name: 'acme', state: 'failed', reason: 'It crashed.' };
  made[0].tell({ asleep: 1, failed: 1 }, [row]);
  await until(() => shown('tenants')?.text === 'acme: It crashed.');
  made[0].tell({ asleep: 2 }, [{ ...row, state: 'asleep', reason: '' }]);
  await until(() => shown('tenants')?.text === '0 awake, 2 asleep');
  made[0].tell({ asleep: 2 }, [], 'The keeper of the tenants does not answer (ENOENT).');
  await until(() => shown('tenants')?.text === 'keeper: not running');
  expect(shown('tenants').fill).toBe('red');
  expect(errors()).toEqual([]);
});

test('wakes tenants whose records are only in the log', async () => {
  write('acme', 'b');
  await run(node('in', 'ingest', {}, 'tenants'), tenants());
  await until(() => made.length === 1 && stores.length === 1);
  stores[0].held = [
    { node: 'tenant/b', records: 4 },
    { node: 'another', records: 4 }
  ];
  await until(() => made[0].wanted.length > 0);
  expect(made[0].wanted).toEqual(['b']);
  // Another thread does not know it.
  made[0].emit('started');
  await until(() => made[0].wanted.length > 1);
});

test('refuses a second tenants node of an engine, and a batch', async () => {
  write('acme');
  await run(
    node('in', 'ingest', {}, 'tenants'),
    tenants(),
    { ...tenants(), id: 'second' },
    node('batches', 'helper', {}, 'tenants')
  );
  await until(() => shown('second')?.text === 'second tenants node');
  const message = { payload: '{}', batch: { id: 1, count: 1, priority: 3 } };
  helper.getNode('tenants').receive(message);
  await until(() => errors().some(([, text]) => /batch cannot be divided/.test(text)));
});

test('stops its thread when it is removed, and when the engine closes', async () => {
  write('acme');
  await run(node('in', 'ingest', {}, 'tenants'), tenants());
  await until(() => made.length === 1);
  await unload();
  expect(made[0].stopMs).toBe(2000);
});

test('sends the events of the keeper, and reports a lost stream', async () => {
  await run(
    node(
      'events',
      'seganet-tenant-events',
      { socket: keeper.socket, tenant: 'acme', events: 'ready, slept' },
      'out'
    ),
    node('out', 'helper')
  );
  const messages = inbox('out');
  await until(() => keeper.streams.size === 1);
  keeper.tell({ at: 5, tenant: 'acme', event: 'waking' });
  keeper.tell({ at: 6, tenant: 'acme', event: 'ready', ms: 9 });
  keeper.tell({ at: 7, tenant: 'b', event: 'ready' });
  keeper.tell({ at: 8, tenant: 'acme', event: 'stopped' });
  await until(() => messages.length >= 3);
  await keeper.close();
  await until(() => messages.some(({ payload }) => payload.event === 'lost'));
  expect(messages.slice(-3).map(({ topic, payload }) => [topic, payload.event, payload.at])).toEqual([
    ['tenants/acme/ready', 'ready', 6],
    ['tenants/acme/slept', 'slept', 8],
    ['tenants/keeper/lost', 'lost', expect.any(Number)]
  ]);
  await until(() => /^keeper: /.test(shown('events')?.text));
  await until(() => /not running/.test(shown('events')?.text));
  expect(warnings().filter(([id]) => id)).toEqual([['events', expect.stringMatching(/^The keeper/)]]);
  expect(messages.filter(({ payload }) => payload.event === 'lost')).toHaveLength(1);
});

test('a file that is no text stops no other node', async () => {
  await run(tenants({ file: { $: 1 } }), node('in', 'mqtt-devices', { host: '127.0.0.1', port: '0' }));
  // Node-RED's own report of a constructor that threw.
  expect(errors().map(([, sentence]) => sentence)).not.toContainEqual(
    expect.stringMatching(/is not a function/)
  );
});
