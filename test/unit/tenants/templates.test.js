'use strict';
// Tenants that the keeper's socket makes of templates: what it may do, what stays of them, and rollouts of a flow.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ApiServer } = require('../../../docker/tenants/lib/api/server');
const { systemClock } = require('../../../docker/tenants/lib/base/clock');
const { homeOf, makeHome } = require('../../../docker/tenants/lib/base/home');
const add = require('../../../docker/tenants/lib/commands/add');
const remove = require('../../../docker/tenants/lib/commands/remove');
const template = require('../../../docker/tenants/lib/commands/template');
const { readTenants } = require('../../../docker/tenants/lib/file/tenants-file');
const { hold } = require('../../../docker/tenants/lib/life/hold');
const { Keeper } = require('../../../docker/tenants/lib/life/keeper');
const { TemplateDesk } = require('../../../docker/tenants/lib/templates/desk');
const { filesOf, putFlow, recoverFlows } = require('../../../docker/tenants/lib/templates/flow');
const { eventually } = require('../../../bench/harness/net');
const { askJson } = require('../../fixtures/tenants/ask');
const { FakeDriver } = require('../../fixtures/tenants/fake-driver');

/** An engine in memory with volumes on the disk. A tenant whose flow has a node of the type 'broken' does not start. */
class Engine extends FakeDriver {
  startMs = 1;
  stopMs = 1;

  /** @param {import('../../../docker/tenants/lib/base/home').Home} home */
  constructor(home) {
    super(/** @type {any} */ (systemClock));
    this.home = home;
  }

  /** @param {{ name: string }} spec */
  async create(spec) {
    if (this.broken.has('create')) throw new Error('the engine has no image');
    fs.mkdirSync(path.join(this.home.volumes, spec.name), { recursive: true });
    await super.create(spec);
  }

  /** @param {{ name: string }} spec */
  async start({ name }) {
    const flow = path.join(this.home.volumes, name, 'gateway.json');
    if (fs.existsSync(flow) && fs.readFileSync(flow, 'utf8').includes('broken'))
      throw new Error('a bad flow');
    await super.start({ name });
  }

  /** @param {{ name: string }} spec @param {{ hasData?: boolean }} [options] */
  async remove({ name }, { hasData = false } = {}) {
    this.boxes.delete(name);
    if (hasData) fs.rmSync(path.join(this.home.volumes, name), { recursive: true, force: true });
  }
}

/** @type {ReturnType<typeof homeOf>} */
let home;
/** @type {Engine} */
let engine;
/** @type {Keeper} */
let keeper;
/** @type {ApiServer} */
let server;
/** @type {TemplateDesk} */
let templates;
/** @type {any[]} */
let events;
/** A folder with the flow of the template 'pump'. */
let flow = '';

beforeEach(async () => {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-t-'));
  home = homeOf({ SEGANET_HOME: base });
  makeHome(home);
  flow = path.join(base, 'flow');
  fs.mkdirSync(path.join(flow, 'lib'), { recursive: true });
  fs.writeFileSync(path.join(flow, 'gateway.json'), '[{"id":"1"}]');
  fs.writeFileSync(path.join(flow, 'lib', 'settings.json'), '{}');
  write({
    tenants: [{ name: 'old', driver: 'process' }],
    templates: {
      pump: { driver: 'process', flow, most: 2, limits: { volumeMiB: 1 } },
      plain: { driver: 'process' }
    }
  });
  engine = new Engine(home);
  await openKeeper();
});
afterEach(async () => {
  templates.rollouts.close();
  await server.close();
  await keeper.close({ isStopped: true });
  fs.rmSync(path.dirname(home.folder), { recursive: true, force: true });
});

async function openKeeper() {
  events = [];
  const limits = { starts: 2, readyMs: 5000, leaseMs: 5000, graceMs: 100, warmBytes: 0 };
  const driver = () => /** @type {any} */ (engine);
  const accepts = async () => {};
  keeper = new Keeper({ drivers: driver, clock: systemClock, limits, state: home.state, accepts });
  keeper.on('event', (event) => events.push(event));
  await keeper.apply(readTenants(home.file));
  templates = new TemplateDesk({ home, keeper, driver });
  const reload = async () => keeper.apply(readTenants(home.file));
  server = new ApiServer(
    { keeper, reload, backup: null, templates },
    { report: (text) => events.push(text) }
  );
  await server.open(home.socket);
}

/** @param {object} content */
const write = (content) => fs.writeFileSync(home.file, JSON.stringify({ version: 1, ...content }));
/** @param {string} method @param {string} url @param {object} [body] */
const ask = (method, url, body) => {
  const headers = body ? { 'content-length': Buffer.byteLength(JSON.stringify(body)) } : {};
  return askJson({ socketPath: home.socket, method, path: url, headers }, body);
};
/** @param {string} name @param {string} [from] */
const make = (name, from = 'pump') => ask('POST', '/v1/tenants', { name, template: from, by: 'alice' });
const names = () => readTenants(home.file).map(({ name }) => name);
/** @param {string} tenant @param {string} [file] */
const content = (tenant, file = 'gateway.json') =>
  fs.readFileSync(path.join(home.volumes, tenant, file), 'utf8');
const volumes = () => fs.readdirSync(home.volumes).sort();
/** @param {string} [name] @returns {Promise<any>} */
const templateRow = async (name = 'pump') =>
  (await ask('GET', '/v1/templates')).body.templates.find((/** @type {any} */ each) => each.name === name);
/** @param {any} command @param {string[]} operands @param {object} [values] @returns {Promise<string>} */
async function run(command, operands, values = {}) {
  let printed = '';
  const print = (/** @type {string} */ text) => void (printed += `${text}\n`);
  const driver = () => engine;
  await command.run({ values, operands, home, env: {}, isJson: false, print, note: print, driver });
  return printed;
}

test('the socket makes tenants of a template with its flow, up to "most", and removes those with their data kept', async () => {
  expect(await make('a')).toEqual({ status: 200, body: { name: 'a', template: 'pump' } });
  expect([content('a'), content('a', 'lib/settings.json')]).toEqual(['[{"id":"1"}]', '{}']);
  expect(readTenants(home.file)[1]).toMatchObject({
    ...{ name: 'a', template: 'pump', byApi: true, driver: 'process' },
    limits: { volumeMiB: 1 }
  });
  expect((await ask('POST', '/v1/tenants/a/wake', {})).status).toBe(200);
  expect((await make('b')).status).toBe(200);
  expect(await make('c')).toMatchObject({
    status: 409,
    body: {
      code: 'limit',
      error: expect.stringContaining('has 2 tenants that were made here, and may have 2')
    }
  });
  expect(await templateRow()).toEqual({
    ...{ name: 'pump', driver: 'process', image: '', hasFlow: true, most: 2, tenants: 2, made: 2 },
    rollout: null
  });
  const { body } = await ask('DELETE', '/v1/tenants/a', { by: 'alice' });
  expect(body).toEqual({ removed: 'a', data: expect.stringMatching(/volumes\/a\.removed-\d{8}T\d{9}Z$/) });
  expect(fs.readFileSync(path.join(body.data, 'gateway.json'), 'utf8')).toBe('[{"id":"1"}]');
  expect([names(), keeper.names]).toEqual([
    ['old', 'b'],
    ['old', 'b']
  ]);
  expect(events.filter(({ event }) => ['added', 'removed'].includes(event))).toEqual([
    expect.objectContaining({ tenant: 'a', event: 'added', template: 'pump', by: 'alice' }),
    expect.objectContaining({ tenant: 'b', event: 'added' }),
    expect.objectContaining({ tenant: 'a', event: 'removed', by: 'alice' })
  ]);
  expect((await make('a')).status).toBe(200);
});

test.each([
  [
    'an unknown template',
    { name: 'a', template: 'none' },
    404,
    /There is no template 'none'. There are: pump, plain/
  ],
  [
    'a template for the command',
    { name: 'a', template: 'plain' },
    409,
    /Only the command makes tenants of plain/
  ],
  ['a name that is taken', { name: 'old', template: 'pump' }, 409, /There is a tenant 'old' already/],
  ['a name that leads elsewhere', { name: '../a', template: 'pump' }, 400, /name must have 1 to 32/],
  ['no name', { template: 'pump' }, 400, /name must have 1 to 32/],
  ['an image of its own', { name: 'a', template: 'pump', image: 'x' }, 400, /unknown key 'image'/],
  ['a number as a name', { name: 1, template: 'pump' }, 400, /name must be a text/]
])('the socket refuses %s, and leaves nothing', async (_what, body, status, sentence) => {
  const before = fs.readFileSync(home.file, 'utf8');
  expect(await ask('POST', '/v1/tenants', body)).toMatchObject({
    status,
    body: { error: expect.stringMatching(sentence) }
  });
  expect([volumes(), fs.readFileSync(home.file, 'utf8')]).toEqual([[], before]);
});

test('the socket takes over no data of an earlier tenant, and fills no disk', async () => {
  fs.mkdirSync(path.join(home.volumes, 'a'));
  expect(await make('a')).toMatchObject({ status: 409, body: { code: 'taken' } });
  write({ tenants: [], templates: { pump: { driver: 'process', most: 1, limits: { volumeMiB: 1 << 24 } } } });
  expect(await make('b')).toMatchObject({
    status: 507,
    body: { code: 'full', error: expect.stringMatching(/has \d+ MiB free, .* may need 16777216 MiB/) }
  });
});

test('a tenant whose engine or flow fails is not made', async () => {
  engine.broken.add('create');
  expect(await make('a')).toMatchObject({ status: 500, body: { error: 'the engine has no image' } });
  engine.broken.clear();
  fs.rmSync(path.join(flow, 'gateway.json'));
  expect(await make('a')).toMatchObject({
    status: 503,
    body: { error: expect.stringContaining('no gateway.json') }
  });
  expect([volumes(), names()]).toEqual([[], ['old']]);
});

test('the socket removes neither a tenant of the command, nor one in use unless forced, and keeps data up to a limit', async () => {
  expect(await ask('DELETE', '/v1/tenants/old', {})).toMatchObject({
    status: 409,
    body: { code: 'limit', error: expect.stringContaining('seganet-tenants remove old') }
  });
  expect((await ask('DELETE', '/v1/tenants/none', {})).status).toBe(404);
  await make('a');
  const lease = await ask('POST', '/v1/tenants/a/lease', { reason: 'records' });
  expect(lease.status).toBe(200);
  expect(await ask('DELETE', '/v1/tenants/a', {})).toMatchObject({ status: 409, body: { code: 'leased' } });
  expect(names()).toEqual(['old', 'a']);
  expect((await ask('DELETE', '/v1/tenants/a', { force: true })).status).toBe(200);
  await make('a');
  await ask('DELETE', '/v1/tenants/a', {});
  await make('a');
  expect(await ask('DELETE', '/v1/tenants/a', {})).toMatchObject({
    status: 409,
    body: { code: 'limit', error: expect.stringContaining('the data of 2 removed tenants') }
  });
  await keeper.tenant('a').sleep();
  await run(remove, ['a']);
  expect(await run(remove, ['a'], { 'delete-data': true })).toMatch(
    /^deleted .*a\.removed-.*, .*a\.removed-/
  );
  expect(volumes()).toEqual(['a']);
});

test('the command makes any number of tenants of a template, changes templates, and lists them', async () => {
  expect(await run(add, ['x'], { template: 'plain' })).toContain('added x (process)');
  expect(readTenants(home.file)[1]).toMatchObject({ template: 'plain', byApi: false });
  await expect(run(add, ['y'], { template: 'plain', memory: '64' })).rejects.toThrow('leave out --memory');
  await expect(run(add, ['y', 'node'], { template: 'plain' })).rejects.toThrow('leave out the command');
  expect(
    await run(template, ['add', 'fan', 'true'], { flow, most: '3', memory: '64', driver: 'process' })
  ).toBe('added the template fan\n');
  expect(JSON.parse(fs.readFileSync(home.file, 'utf8')).templates.fan).toEqual({
    ...{ driver: 'process', command: ['true'], limits: { memoryMiB: 64 } },
    ...{ flow, most: 3 }
  });
  expect(await run(template, ['list'])).toMatch(/plain +process +1 +0 of 0 +–\nfan +process +0 +0 of 3 +\//);
  expect(await run(template, ['remove', 'fan'])).toContain('removed');
  await expect(run(template, ['remove', 'fan'])).rejects.toThrow("no template 'fan'");
  await expect(run(template, ['list', 'fan'])).rejects.toThrow('Use add NAME');
  await expect(run(template, ['add', 'fan'], { flow: home.folder, driver: 'process' })).rejects.toThrow(
    /flow/
  );
});

describe('a rollout', () => {
  /** @param {number} [watchS] */
  const rollOut = (watchS = 0) => ask('POST', '/v1/templates/pump/rollout', { watchS, by: 'alice' });
  /** @param {string} state */
  const ended = (state) =>
    eventually(async () => (await templateRow()).rollout.state === state, { timeoutMs: 5000 });
  /** @param {string} nodes */
  const change = (nodes) => fs.writeFileSync(path.join(flow, 'gateway.json'), nodes);
  beforeEach(async () => {
    await make('a');
    await make('b');
    fs.writeFileSync(path.join(home.volumes, 'a', 'data'), 'kept');
  });

  test('gives each tenant the flow, keeps its data and its old flow, and lets it sleep as before', async () => {
    await ask('POST', '/v1/tenants/b/wake', {});
    change('[{"id":"2"}]');
    expect((await rollOut()).body).toMatchObject({ state: 'running', total: 2, done: 0, by: 'alice' });
    await ended('done');
    expect([content('a'), content('b'), content('a', 'data')]).toEqual([
      '[{"id":"2"}]',
      '[{"id":"2"}]',
      'kept'
    ]);
    expect(content('a.flow-old')).toBe('[{"id":"1"}]');
    expect([keeper.tenant('a').status.state, keeper.tenant('b').status.state]).toEqual([
      'stopped',
      'running'
    ]);
    expect(events.filter(({ event }) => event === 'updated')).toEqual([
      expect.objectContaining({ tenant: 'a', template: 'pump', by: 'alice', ok: true }),
      expect.objectContaining({ tenant: 'b', ok: true })
    ]);
  });

  test('stops at the first tenant that does not start, which gets its old flow back', async () => {
    change('[{"type":"broken"}]');
    await rollOut();
    await ended('failed');
    expect((await templateRow()).rollout).toMatchObject({
      ...{ done: 0, tenant: 'a' },
      reason: expect.stringMatching(/a bad flow\. It runs with its old flow again\.$/)
    });
    expect([content('a'), content('b')]).toEqual(['[{"id":"1"}]', '[{"id":"1"}]']);
    expect(volumes()).toEqual(['a', 'b']);
    expect(recoverFlows(home)).toEqual([]);
  });

  test('stops at a tenant that ends soon after its start', async () => {
    change('[{"id":"2"}]');
    await rollOut(30);
    await eventually(() => keeper.tenant('a').status.state === 'running');
    engine.crash('a');
    await ended('failed');
    expect((await templateRow()).rollout.reason).toMatch(/it ended soon after its start: .*code 1/);
    expect(content('a')).toBe('[{"id":"1"}]');
  });

  test('is refused while another one is under way, while a tenant is restored, and without a flow', async () => {
    expect(await ask('POST', '/v1/templates/plain/rollout', {})).toMatchObject({ status: 400 });
    expect(await ask('POST', '/v1/templates/none/rollout', {})).toMatchObject({ status: 404 });
    expect(await rollOut(3601)).toMatchObject({ status: 400 });
    const release = hold(home.state, 'a');
    await rollOut();
    await ended('failed');
    expect((await templateRow()).rollout.reason).toContain('is restoring, updating or removing a');
    release();
    expect((await rollOut(30)).status).toBe(200);
    expect(await rollOut()).toMatchObject({ status: 503, body: { code: 'busy' } });
  });

  test('that a kill cuts off is undone by the next keeper', () => {
    const before = content('a');
    change('[{"id":"2"}]');
    fs.writeFileSync(path.join(flow, 'new'), '');
    putFlow(home, 'a', filesOf(flow));
    expect([content('a'), content('a', 'new')]).toEqual(['[{"id":"2"}]', '']);
    expect(recoverFlows(home)).toEqual([{ name: 'a', problem: '' }]);
    expect(content('a')).toBe(before);
    expect(fs.readdirSync(path.join(home.volumes, 'a')).sort()).toEqual(['data', 'gateway.json', 'lib']);
    expect([recoverFlows(home), volumes()]).toEqual([[], ['a', 'b']]);
  });

  test('follows no link that a tenant left in its volume', () => {
    const outside = path.join(home.folder, 'outside');
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'settings.json'), 'mine');
    const [json, lib] = ['gateway.json', 'lib'].map((name) => path.join(home.volumes, 'a', name));
    fs.rmSync(json);
    fs.rmSync(lib, { recursive: true });
    fs.symlinkSync(path.join(outside, 'settings.json'), json);
    fs.symlinkSync(outside, lib);
    putFlow(home, 'a', filesOf(flow));
    expect(fs.readFileSync(path.join(outside, 'settings.json'), 'utf8')).toBe('mine');
    expect(fs.lstatSync(json).isFile()).toBe(true);
    recoverFlows(home);
    expect(fs.readlinkSync(lib)).toBe(outside);
  });
});

test.each([
  [
    'a link',
    (/** @type {string} */ folder) => fs.symlinkSync('/etc/passwd', path.join(folder, 'x')),
    /neither/
  ],
  [
    'the log of a gateway',
    (/** @type {string} */ folder) => fs.mkdirSync(path.join(folder, 'seganet-log')),
    null
  ],
  [
    'records of a gateway',
    (/** @type {string} */ folder) => {
      fs.mkdirSync(path.join(folder, 'seganet-log'));
      fs.writeFileSync(path.join(folder, 'seganet-log', 'log.db'), '');
    },
    /seganet-log holds data/
  ],
  [
    'credentials without their secret',
    (/** @type {string} */ folder) => fs.writeFileSync(path.join(folder, 'gateway_cred.json'), '{}'),
    /credential-secret/
  ],
  [
    'a flow that is no list',
    (/** @type {string} */ folder) => fs.writeFileSync(path.join(folder, 'gateway.json'), '{}'),
    /no list/
  ],
  [
    'more than 64 MiB',
    (/** @type {string} */ folder) => {
      fs.writeFileSync(path.join(folder, 'big'), '');
      fs.truncateSync(path.join(folder, 'big'), (64 << 20) + 1);
    },
    /64 MiB/
  ]
])('the flow of a template with %s', (_what, spoil, sentence) => {
  spoil(flow);
  if (sentence) expect(() => filesOf(flow)).toThrow(sentence);
  else expect([...filesOf(flow).keys()].sort()).toEqual(['gateway.json', 'lib/settings.json']);
});
