'use strict';
// Lists of a cloud's devices and users, and the admin endpoints that make codes and delete devices.

const { randomUUID } = require('node:crypto');
const { addCloudEndpoints } = require('../../../nodes/lib/ocf/node/cloud-endpoints');
const { listOf } = require('../../../nodes/lib/ocf/node/cloud-lists');
const { setCloud } = require('../../../nodes/lib/ocf/node/clouds');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(60000);
const ID = 'ocf-1';
let cloud;
beforeAll(async () => {
  cloud = await startControlPlane({}, { isThreaded: true });
  setCloud(ID, cloud.cloud);
});
afterAll(async () => {
  setCloud(ID, null);
  await cloud?.stop();
});
const { connected, signedIn } = scenes(() => cloud);
const list = (more = {}) => listOf(cloud.cloud, { show: 'devices', q: '', page: 1, size: 10, ...more });

/** Calls an endpoint. @param {string} action @param {any} body @param {{ id?: string, type?: string }} [more] */
async function post(action, body, { id = ID, type = 'application/json' } = {}) {
  const handlers = new Map();
  const audited = [];
  const permissions = [];
  addCloudEndpoints(
    /** @type {any} */ ({
      auth: { needsPermission: (name) => permissions.push(name) },
      httpAdmin: { post: (path, _allowed, handler) => handlers.set(path.split('/').pop(), handler) },
      log: { audit: (entry) => audited.push(entry) },
      nodes: { getNode: (each) => (each.startsWith('ocf') ? { type: 'seganet-ocf-cloud' } : null) }
    })
  );
  // Each needs a login; test/unit/base/permission.test.js shows what it may do.
  expect(permissions).toEqual(['']);
  const answer = { status: 200, headers: {}, body: null };
  const response = {
    status: (code) => Object.assign(response, { code: (answer.status = code) }),
    setHeader: (name, value) => (answer.headers[name] = value),
    json: (value) => (answer.body = value)
  };
  await handlers.get(action)({ params: { id }, body, is: (wanted) => wanted === type }, response);
  return { ...answer, audited };
}

test('searches devices by id, name, type and user, and pages them', async () => {
  const own = await signedIn('Ann_1');
  const links = [{ href: '/a', rt: ['x.a'], if: ['oic.if.r'], p: { bm: 3 } }];
  const body = { di: own.di, ttl: 0, n: '100% Lamp! ÜBER', links };
  expect((await own.request('POST', '/oic/rd', { body })).code).toBe('2.04');
  for (let n = 0; n < 24; n++) await (await connected()).signUp(await cloud.codeFor('ben'));
  const all = await list();
  expect([all.known, all.found, all.page, all.pages, all.rows.length]).toEqual([25, 25, 1, 3, 10]);
  const last = await list({ page: 99 });
  expect([last.page, last.rows.length]).toEqual([3, 5]);
  const dis = [all, await list({ page: 2 }), last].flatMap(({ rows }) => rows.map(({ di }) => di));
  expect(dis).toEqual([...dis].sort());
  expect(new Set(dis).size).toBe(25);
  for (const q of ['ann_1', 'ANN', '100% lamp!', 'ÜBER', own.di.slice(9, 23)]) {
    const found = await list({ q });
    expect([q, found.found, found.rows]).toEqual([
      q,
      1,
      [expect.objectContaining({ di: own.di, user: 'Ann_1', name: '100% Lamp! ÜBER', links: 1, on: true })]
    ]);
    expect(found.rows[0].address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(found.rows[0].since).toBeGreaterThan(0);
  }
  // Characters with a meaning in a pattern have none here.
  for (const q of ['100_', 'a%', 'annx1', "' OR 1=1 --", '!']) {
    const { found } = await list({ q });
    expect([q, found]).toEqual([q, q === '!' ? 1 : 0]);
  }
});

test('shows only devices that are signed in, or only users', async () => {
  const own = await signedIn('cid');
  const on = await list({ show: 'on' });
  expect(on.rows.map(({ di }) => di)).toEqual([own.di]);
  expect((await list({ show: 'on', q: 'cid' })).found).toBe(1);
  expect((await list({ show: 'on', q: 'ben' })).found).toBe(0);
  const users = await list({ show: 'users', q: 'c' });
  expect(users.rows).toEqual([expect.objectContaining({ user: 'cid', devices: 1 })]);
  expect((await list({ show: 'users' })).rows.map(({ user }) => user)).toEqual(['Ann_1', 'ben', 'cid']);
  own.destroy();
  await eventually(async () => (await list({ show: 'on' })).found === 0, 'no device is on');
});

test('makes an access code with which one device signs up', async () => {
  const { status, headers, body, audited } = await post('codes', { user: 'dora' });
  expect([status, headers['Cache-Control']]).toEqual([200, 'no-store']);
  expect(body.expires).toBeGreaterThan(cloud.cloud.now());
  expect(audited).toEqual([{ event: 'seganet.ocf.code', id: ID }]);
  const device = await connected();
  expect((await device.signUp(body.code)).code).toBe('2.04');
  const other = await connected();
  expect((await other.signUp(body.code)).code).toBe('4.01');
});

test('deletes a device and ends its session', async () => {
  const device = await signedIn('eve');
  expect((await post('delete', { device: device.di.toUpperCase() })).body).toEqual({ deleted: true });
  await eventually(() => device.isClosed, 'the connection is closed');
  expect((await list({ q: 'eve' })).found).toBe(0);
  expect((await post('delete', { device: device.di })).body).toEqual({ deleted: false });
});

test('refuses wrong requests with a sentence', async () => {
  const cases = [
    ['codes', { user: 'two words' }, {}, 400, /1 to 128 characters/],
    ['codes', { user: 7 }, {}, 400, /body must be/],
    ['codes', undefined, {}, 400, /body must be/],
    ['codes', { user: 'x' }, { type: 'text/plain' }, 400, /application\/json/],
    ['delete', { device: 'x' }, {}, 400, /id of a device/],
    ['delete', { device: [randomUUID()] }, {}, 400, /id of a device/],
    ['delete', { device: randomUUID() }, { id: 'other' }, 404, /no such cloud/],
    ['delete', { device: randomUUID() }, { id: 'ocf-2' }, 503, /not open/]
  ];
  for (const [action, body, more, status, error] of cases) {
    const answer = await post(action, body, more);
    expect([action, body, answer.status, answer.body, answer.audited]).toEqual([
      action,
      body,
      status,
      { error: expect.stringMatching(error) },
      []
    ]);
  }
  cloud.store.crash();
  const { status, body } = await post('codes', { user: 'x' });
  expect([status, body.error]).toEqual([503, expect.stringMatching(/^The database is not available/)]);
});
