'use strict';
// What the operator's page shows of the tenants, and what an operator can do with them.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TestKeeper } = require('../../fixtures/tenants/keeper');
const { KeeperClient } = require('../../../nodes/lib/tenants/keeper/keeper-client');
const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { TenantsView, addView, spareView } = require('../../../nodes/lib/tenants/operator');
const { Reading } = require('../../../nodes/lib/tenants/operator/reading');
const { rowsOf, countsOf, pageOf } = require('../../../nodes/lib/tenants/operator/tenant-rows');

const QUERY = /** @type {const} */ ({ show: 'all', q: '', chosen: '', page: 1, size: 25 });
const ASLEEP = { since: 5, reason: '', wakes: 0, failures: 0, lastWake: null };

/** @param {object} [changes] @returns {any} */
const knowing = (changes) => ({
  front: new Map(),
  parts: new Map(),
  stored: new Map(),
  perS: () => 0,
  names: [],
  ...changes
});
const front = (name, state, more = {}) => new Map([[name, { ...ASLEEP, name, state, ...more }]]);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the state of a tenant', () => {
  test.each([
    ['awake', { state: 'running' }, 'awake'],
    ['awake', { state: 'running' }, 'asleep'],
    ['paused', { state: 'paused' }, 'asleep'],
    ['asleep', { state: 'stopped' }, 'asleep'],
    ['asleep', { state: 'created' }, undefined],
    ['asleep', { state: 'absent' }, undefined],
    ['waking', { state: 'starting' }, 'waking'],
    ['leaving', { state: 'pausing' }, 'asleep'],
    ['leaving', { state: 'stopping' }, 'leaving'],
    ['waiting', { state: 'stopped' }, 'waiting'],
    ['retrying', { state: 'stopped', failures: 2 }, 'asleep'],
    ['retrying', { state: 'running' }, 'failed'],
    ['failed', { state: 'failed' }, 'failed'],
    ['asleep', { state: 'a state of a later release' }, undefined]
  ])('is %s: keeper %j, front %s', (wanted, keeper, own) => {
    const known = knowing(own ? { front: front('a', own) } : {});
    expect(rowsOf([{ name: 'a', ...keeper }], known, new Map())[0].state).toBe(wanted);
  });

  test('is unknown while the keeper is away, unless the front serves the tenant', () => {
    const known = knowing({ front: front('a', 'awake'), names: ['a', 'b'] });
    expect(rowsOf(null, known, new Map()).map(({ name, state }) => [name, state])).toEqual([
      ['b', 'unknown'],
      ['a', 'awake']
    ]);
  });
});

test('a row joins what the keeper, the front, the engine and the log know', () => {
  const lastWake = { at: 1000, how: 'start', readyMs: 800, connectedMs: 900 };
  const known = knowing({
    front: front('a', 'awake', { wakes: 3, lastWake }),
    parts: new Map([['a', { waitingBytes: 7, refused: 2 }]]),
    stored: new Map([['a', { 1: 4, 3: 5 }]]),
    perS: (name) => (name === 'a' ? 12 : 0)
  });
  const keeper = {
    name: 'a',
    driver: 'process',
    state: 'running',
    since: 9,
    memoryBytes: 100,
    leases: 1,
    failures: 0,
    dataBytes: 50,
    limits: { memoryMiB: 1, volumeMiB: 2 },
    isolated: false,
    lastWake: { at: 1001, by: 'records', how: 'start', readyMs: 800 },
    backup: { at: 3, ok: false, reason: 'no room' },
    template: 'pump',
    byApi: true
  };
  expect(rowsOf([keeper], known, new Map([['a', 'backup']]))).toEqual([
    {
      name: 'a',
      state: 'awake',
      since: 9,
      reason: '',
      driver: 'process',
      isolated: false,
      memoryBytes: 100,
      memoryLimit: 1 << 20,
      dataBytes: 50,
      dataLimit: 2 << 20,
      lastWake: { at: 1001, by: 'records', how: 'start', readyMs: 800, connectedMs: 900 },
      leases: 1,
      failures: 0,
      wakes: 3,
      waitingBytes: 7,
      waiting: { 1: 4, 3: 5 },
      perS: 12,
      refused: 2,
      backup: { at: 3, ok: false, reason: 'no room' },
      template: 'pump',
      isRemovable: true,
      busy: 'backup'
    }
  ]);
});

test('a page of 1,000 tenants has 25, failed ones first, and finds by name, driver and state', () => {
  const list = Array.from({ length: 1000 }, (_, i) => ({
    name: `t${String(i).padStart(3, '0')}`,
    driver: i % 2 ? 'process' : 'docker',
    state: i === 700 ? 'failed' : i < 10 ? 'running' : 'stopped',
    reason: 'x'.repeat(400)
  }));
  const rows = rowsOf(list, knowing(), new Map());
  expect(countsOf(rows)).toMatchObject({ failed: 1, awake: 10, asleep: 989 });
  const first = pageOf(rows, QUERY);
  expect(first).toMatchObject({ found: 1000, page: 1, pages: 40 });
  expect(first.rows.slice(0, 2).map(({ name }) => name)).toEqual(['t700', 't000']);
  expect(pageOf(rows, { ...QUERY, page: 99 })).toMatchObject({ page: 40 });
  expect(pageOf(rows, { ...QUERY, show: 'trouble' }).rows.map(({ name }) => name)).toEqual(['t700']);
  expect(pageOf(rows, { ...QUERY, show: 'asleep' }).found).toBe(989);
  expect(pageOf(rows, { ...QUERY, q: 't99' }).found).toBe(10);
  expect(pageOf(rows, { ...QUERY, q: 'docker' }).found).toBe(500);
  // What a viewer gets each second.
  expect(JSON.stringify(first).length).toBeLessThan(32768);
});

describe('a reading', () => {
  test('is made only when asked for, and then rests for a multiple of its time', async () => {
    let now = 0;
    let count = 0;
    const reading = new Reading(
      async () => {
        now += 100;
        return ++count;
      },
      () => now
    );
    expect(count).toBe(0);
    expect(reading.get().value).toBe(null);
    await settled();
    expect(reading.get()).toEqual({ value: 1, error: null, ageMs: 0 });
    now = 999;
    reading.get();
    await settled();
    expect(count).toBe(1);
    now = 1000;
    expect(reading.get()).toMatchObject({ value: 1, ageMs: 900 });
    await settled();
    expect(reading.get().value).toBe(2);
  });

  test('that fails has no value, and is made again', async () => {
    let now = 0;
    const answers = [Promise.reject(new Error('away')), Promise.resolve(5)];
    const reading = new Reading(
      () => /** @type {Promise<number>} */ (answers.shift()),
      () => now
    );
    reading.get();
    await settled();
    expect(reading.get().error?.message).toBe('away');
    now = 900;
    reading.get();
    await settled();
    expect(reading.get()).toMatchObject({ value: 5, error: null });
  });
});

describe('a view', () => {
  /** @param {object} keeper @param {object} [more] */
  const viewOf = (keeper, more) =>
    new TenantsView({
      id: 'n',
      keeper: /** @type {any} */ ({ tenants: async () => [], ...keeper }),
      ...more
    });

  test('says that the keeper is away, and shows the tenants of the file', async () => {
    const tenants = () =>
      Promise.reject(new KeeperError('No keeper listens there.', { code: 'unreachable' }));
    const known = () => knowing({ names: ['a'] });
    const view = viewOf({ tenants }, { front: { known, stored: async () => [], problem: () => 'bad file' } });
    expect(view.page(QUERY, 0)).toMatchObject({ isRead: false, keeperProblem: '' });
    await settled();
    expect(view.page({ ...QUERY, chosen: 'a' }, 4)).toMatchObject({
      isRead: true,
      keeperProblem: 'No keeper listens there.',
      fileProblem: 'bad file',
      strangers: 4,
      known: 1,
      chosen: { name: 'a', state: 'unknown' }
    });
  });

  test('answers before a long action ends, shows it, and refuses another one of the tenant', async () => {
    /** @type {(value: object) => void} */
    let end = () => {};
    const backup = () => new Promise((resolve) => (end = resolve));
    const tenants = async () => [{ name: 'a', state: 'running' }];
    const view = viewOf({ backup, tenants, sleep: async () => ({ state: 'stopped' }) }, { waitMs: 5 });
    view.page(QUERY, 0);
    await settled();
    expect(await view.act('backup', 'a')).toEqual({ isDone: false });
    const busy = () => /** @type {any} */ (view.page(QUERY, 0)).rows[0].busy;
    expect(busy()).toBe('backup');
    await expect(view.act('sleep', 'a')).rejects.toMatchObject({ code: 'busy' });
    end({});
    await settled();
    await settled();
    expect(busy()).toBe('');
    expect(await view.act('sleep', 'a')).toEqual({ isDone: true, state: 'stopped' });
  });

  test('removes a tenant whose records wait only if that is forced', async () => {
    /** @type {any[]} */
    const removed = [];
    const remove = async (/** @type {string} */ name, /** @type {object} */ options) =>
      void removed.push([name, options]);
    const parts = new Map([
      ['a', { waitingBytes: 0, refused: 0 }],
      ['b', { waitingBytes: 2000, refused: 0 }]
    ]);
    const stored = async () => [{ name: 'a', classes: { 1: 2, 3: 1 } }];
    const view = viewOf(
      { remove },
      { front: { known: () => knowing({ parts }), stored, problem: () => '' } }
    );
    await expect(view.act('remove', 'a')).rejects.toMatchObject({
      code: 'waiting',
      message: expect.stringContaining('(3 in the log, 0 KiB in all)')
    });
    await expect(view.act('remove', 'b')).rejects.toMatchObject({ code: 'waiting' });
    expect(removed).toEqual([]);
    await view.act('remove', 'a', { force: true, by: 'alice' });
    await view.act('remove', 'c');
    expect(removed).toEqual([
      ['a', { force: true, by: 'alice' }],
      ['c', { force: false, by: '' }]
    ]);
  });

  test('gives figures of the first 100 tenants by name', async () => {
    const list = Array.from({ length: 150 }, (_, i) => ({ name: `t${149 - i}`, state: 'failed' }));
    let now = 0;
    const view = viewOf({ tenants: async () => list }, { now: () => now });
    expect(view.figures()).toEqual({ rows: [], leftOut: 0 });
    await settled();
    now = 1000;
    const { rows, leftOut } = view.figures();
    expect([rows.length, rows[0].name, leftOut]).toEqual([100, 't0', 50]);
  });

  test('stops a tenant that starts', async () => {
    const view = viewOf(
      { wake: () => new Promise(() => {}), sleep: async () => ({ state: 'stopped' }) },
      { waitMs: 5 }
    );
    expect(await view.act('wake', 'a')).toEqual({ isDone: false });
    expect(await view.act('sleep', 'a')).toMatchObject({ isDone: true });
  });

  test('limits the actions that are under way', async () => {
    const view = viewOf({ wake: () => new Promise(() => {}) }, { waitMs: 1 });
    await Promise.all(Array.from({ length: 64 }, (_, i) => view.act('wake', `t${i}`)));
    await expect(view.act('wake', 'one-more')).rejects.toThrow(/Too many/);
  });
});

test('a gateway without a tenants node has a view if there is a tenants file at its place', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-'));
  try {
    const env = { SEGANET_HOME: folder };
    const at = Math.round(performance.now()); // the sums below are exact
    expect(spareView({ env, now: at + 1e6 })).toBe(null);
    fs.mkdirSync(path.join(folder, 'tenants'));
    fs.writeFileSync(path.join(folder, 'tenants', 'tenants.json'), '{}');
    // It looks each 5 s.
    expect(spareView({ env, now: at + 1e6 + 1000 })).toBe(null);
    expect(spareView({ env, now: at + 1e6 + 5000 })?.id).toBe('-');
    const view = new TenantsView({ id: 'n', keeper: /** @type {any} */ ({}) });
    const remove = addView(view);
    expect(spareView({ env, now: at + 1e6 + 5000 })).toBe(null);
    remove();
    expect(spareView({ env, now: at + 1e6 + 5000 })?.id).toBe('-');
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

describe('the client of the keeper', () => {
  /** @type {TestKeeper} */
  let keeper;
  /** @type {KeeperClient} */
  let client;
  beforeEach(async () => {
    keeper = await new TestKeeper().open();
    client = new KeeperClient({ socket: keeper.socket });
  });
  afterEach(() => keeper.remove());

  /** @param {number} status @param {object} body */
  const answerWith = (status, body) => void (keeper.answer = () => ({ status, body }));
  const asked = () => keeper.requests.map(({ method, path: address, body }) => [method, address, body]);

  test('makes tenants of templates, removes them, and rolls flows out', async () => {
    answerWith(200, { templates: [{ name: 'pump' }, {}, null] });
    expect(await client.templates()).toEqual([{ name: 'pump' }]);
    await client.add('acme', { template: 'pump', by: 'a'.repeat(200) });
    await client.remove('acme', { force: true, by: 'alice' });
    await client.rollout('pump', { by: '' });
    expect(asked()).toEqual([
      ['GET', '/v1/templates', ''],
      ['POST', '/v1/tenants', { name: 'acme', template: 'pump', by: 'a'.repeat(128) }],
      ['DELETE', '/v1/tenants/acme', { force: true, by: 'alice' }],
      ['POST', '/v1/templates/pump/rollout', { by: '' }]
    ]);
    await expect(client.rollout('../tenants/acme', { by: '' })).rejects.toMatchObject({ code: 'unknown' });
    answerWith(404, { error: 'There is no such address.' });
    await expect(client.templates()).rejects.toMatchObject({ code: 'unknown' });
  });

  test('wakes, lets sleep, makes backups and reads the output', async () => {
    answerWith(200, { how: 'start', readyMs: 5, host: '127.0.0.1', port: 1 });
    expect(await client.wake('acme')).toEqual({ how: 'start', readyMs: 5 });
    answerWith(200, { state: 'stopped' });
    expect(await client.sleep('acme', { force: true })).toEqual({ state: 'stopped' });
    answerWith(200, {});
    expect(await client.backup('acme')).toEqual({});
    answerWith(200, { text: 'last line' });
    expect(await client.logs('acme', 7)).toBe('last line');
    expect(asked()).toEqual([
      ['POST', '/v1/tenants/acme/wake', {}],
      ['POST', '/v1/tenants/acme/sleep', { force: true }],
      ['POST', '/v1/tenants/acme/backup', {}],
      ['GET', '/v1/tenants/acme/logs?lines=7', '']
    ]);
  });

  test('passes refusals on, and sends no name that is not one', async () => {
    answerWith(409, { error: 'acme is in use (1 leases).', code: 'leased' });
    await expect(client.sleep('acme')).rejects.toMatchObject({
      code: 'leased',
      message: expect.stringMatching(/in use/)
    });
    answerWith(200, { text: 5 });
    await expect(client.logs('acme', 1)).rejects.toMatchObject({ code: 'protocol' });
    const before = keeper.requests.length;
    for (const name of ['../reload', 'a/b', 'A', '', 'a?x=1'])
      await expect(client.wake(name)).rejects.toMatchObject({ code: 'unknown' });
    expect(keeper.requests.length).toBe(before);
  });
});
