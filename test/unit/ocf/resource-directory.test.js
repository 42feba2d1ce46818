'use strict';
// The resource directory of RFC 9176 in the OCF cloud.

const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');
const { LIMITS } = require('../../../nodes/lib/ocf/cloud/registrations');

jest.setTimeout(60000);
const LINKS = '</sensors/temp>;rt="temperature-c";if="sensor",</sensors/light>;rt="light-lux";ct="0 60"';
const LOCATION_PATH = 8;

let cloud;
beforeAll(async () => {
  cloud = await startControlPlane();
});
afterAll(async () => {
  expect(cloud.problems()).toEqual([]);
  await cloud.stop();
});
const { connected, signedIn } = scenes(() => cloud);
afterEach(() => jest.restoreAllMocks());

/** @param {any} client @param {string[]} query @param {string} [links] @param {object} [more] */
const register = (client, query, links = LINKS, more = {}) =>
  client.request('POST', '/rd', { query, payload: Buffer.from(links), format: 40, accept: null, ...more });
/** @param {any} client @param {string} kind @param {string[]} [query] @param {object} [more] */
const lookup = (client, kind, query = [], more = {}) =>
  client.request('GET', `/rd-lookup/${kind}`, { query, accept: null, ...more });
/** @param {{ options: [number, Buffer][] }} answer */
const locationOf = ({ options }) =>
  `/${options
    .filter(([number]) => number === LOCATION_PATH)
    .map(([, value]) => String(value))
    .join('/')}`;
/** @param {{ payload: Buffer }} answer */
const targets = ({ payload }) => [...payload.toString().matchAll(/<([^>]*)>/g)].map(([, target]) => target);

test('registers, finds, renews and removes an endpoint', async () => {
  const device = await signedIn(newUser());
  const created = await register(device, ['ep=node1', 'base=coap://[2001:db8::1]:61616', 'et=oic.d.sensor']);
  expect(created.code).toBe('2.01');
  const location = locationOf(created);
  const [, , di] = location.split('/');
  expect(location).toMatch(/^\/rd\/[0-9a-f-]{14}5[0-9a-f-]+$/);

  const res = await lookup(device, 'res');
  expect([res.code, res.format, res.payload.toString()]).toEqual([
    '2.05',
    40,
    '<coap://[2001:db8::1]:61616/sensors/temp>;rt="temperature-c";if="sensor",' +
      '<coap://[2001:db8::1]:61616/sensors/light>;rt="light-lux";ct="0 60"'
  ]);
  expect((await lookup(device, 'ep')).payload.toString()).toBe(
    `<${location}>;ep="node1";et="oic.d.sensor";di="${di}";base="coap://[2001:db8::1]:61616";rt="core.rd-ep"`
  );

  const renewed = { query: ['et=oic.d.fan', 'lt=120'], accept: null };
  expect((await device.request('POST', location, renewed)).code).toBe('2.04');
  expect((await lookup(device, 'ep', ['et=oic.d.fan'])).payload.length).toBeGreaterThan(0);
  expect((await device.request('DELETE', location, { accept: null })).code).toBe('2.02');
  const none = await lookup(device, 'res');
  expect([none.code, none.format, none.payload.length]).toEqual(['2.05', 40, 0]);
  expect((await device.request('DELETE', location, { accept: null })).code).toBe('4.04');
  expect((await device.request('POST', location, { accept: null })).code).toBe('4.04');
});

test('keeps the location when an endpoint registers again, and distinguishes sectors', async () => {
  const device = await signedIn(newUser());
  const first = locationOf(await register(device, ['ep=a']));
  expect(locationOf(await register(device, ['ep=a'], '</other>'))).toBe(first);
  expect(targets(await lookup(device, 'res'))).toEqual([`${routeOf(first)}/other`]);
  const second = locationOf(await register(device, ['ep=a', 'd=hall']));
  expect(second).not.toBe(first);
  expect(targets(await lookup(device, 'ep', ['d=hall']))).toEqual([second]);
});

/** @param {string} location */
const routeOf = (location) => `coap+tcp://127.0.0.1:${cloud.port}/oic/route/${location.split('/').pop()}`;

test('filters by attributes of links and endpoints, by beginnings, and in pages', async () => {
  const device = await signedIn(newUser());
  const a = locationOf(await register(device, ['ep=a', 'et=x', 'base=coap://a.example']));
  const b = locationOf(
    await register(
      device,
      ['ep=b', 'et=y', 'base=coap://b.example'],
      '</t>;rt="temperature-c hot";anchor="/z"'
    )
  );
  const find = async (/** @type {string} */ kind, /** @type {string[]} */ ...query) =>
    targets(await lookup(device, kind, query));
  expect(await find('res', 'rt=temperature-c')).toEqual([
    'coap://a.example/sensors/temp',
    'coap://b.example/t'
  ]);
  expect(await find('res', 'rt=temperature-c', 'ep=b')).toEqual(['coap://b.example/t']);
  expect(await find('res', 'rt=hot&ep=b')).toEqual(['coap://b.example/t']);
  expect(await find('res', 'rt=temp*', 'et=x')).toEqual(['coap://a.example/sensors/temp']);
  expect(await find('res', 'href=coap://a.example/sensors/l*')).toEqual(['coap://a.example/sensors/light']);
  expect(await find('res', `href=${b}`)).toEqual(['coap://b.example/t']);
  expect(await find('res', 'anchor=coap://b.example/z')).toEqual(['coap://b.example/t']);
  expect(await find('ep', 'rt=light-lux')).toEqual([a]);
  expect(await find('ep', 'href=coap://b.example/t')).toEqual([b]);
  expect(await find('ep', 'ep=*')).toEqual([a, b]);
  expect(await find('res', 'count=2')).toHaveLength(2);
  expect(await find('res', 'page=1', 'count=2')).toEqual(['coap://b.example/t']);
  expect(await find('ep', 'page=1', 'count=1')).toEqual([b]);
  expect(await find('ep', 'page=9', 'count=9')).toEqual([]);
  for (const query of [['page=1'], ['count=x'], ['count=-1'], ['page=0', 'count=1', 'count=2']]) {
    expect([query, (await lookup(device, 'ep', query)).code]).toEqual([query, '4.00']);
  }
});

test('reaches an endpoint without a base through its connection, with any format', async () => {
  const user = newUser();
  const device = await signedIn(user);
  await register(device, ['ep=plain'], '</t>;rt=temp;ct=0');
  const reader = await signedIn(user);
  const answer = await lookup(reader, 'res');
  expect(answer.payload.toString()).toMatch(/;anchor="ocf:\/\/[0-9a-f-]+"$/);
  const [target] = targets(answer);
  device.serve = ({ options }) => ({ options: [[12, Buffer.alloc(0)]], code: '2.05', seen: options });
  const { pathname } = new URL(target);
  const read = await reader.request('GET', pathname, { accept: null });
  expect([read.code, read.format]).toEqual(['2.05', 0]);
  // No option of OCF: an endpoint rejects critical options that it does not know.
  expect(device.requests[0]).toMatchObject({ path: '/t', options: [[11, expect.anything()]] });
  await reader.request('GET', pathname, { accept: 50 });
  expect(device.requests[1].options.find(([number]) => number === 17)[1]).toEqual(Buffer.from([50]));
  device.destroy();
  await eventually(
    async () => (await reader.request('GET', pathname)).code === '5.03',
    'the endpoint is offline'
  );
});

test('shows an endpoint only to its user, and to users with whom its device is shared', async () => {
  const device = await signedIn(newUser());
  const location = locationOf(await register(device, ['ep=mine']));
  const route = new URL(routeOf(location)).pathname;
  const other = await signedIn(newUser());
  const seen = async () => [
    targets(await lookup(other, 'ep')).length,
    (await other.request('GET', `${route}/sensors/temp`, { accept: null })).code,
    (await other.request('DELETE', location, { accept: null })).code,
    (await other.request('POST', location, { accept: null })).code
  ];
  expect(await seen()).toEqual([0, '4.03', '4.04', '4.04']);
  await cloud.cloud.share(device.di, other.uid, 'r');
  expect(await seen()).toEqual([1, '4.04', '4.04', '4.04']);
  // The same name of another user is another endpoint.
  expect(locationOf(await register(other, ['ep=mine']))).not.toBe(location);
});

test('refuses what is wrong, and keeps what was registered', async () => {
  const device = await signedIn(newUser());
  const location = locationOf(await register(device, ['ep=x', 'lt=60']));
  const wrong = [
    ['4.00', []],
    ['4.00', ['ep=']],
    ['4.00', ['ep=a', 'ep=b']],
    ['4.00', [`ep=${'a'.repeat(64)}`]],
    ['4.00', ['ep=a', 'd=']],
    ['4.00', ['ep=a\u0001']],
    ...['0', '-1', '1.5', 'x', '4294967296'].map((lt) => ['4.00', ['ep=a', `lt=${lt}`]]),
    ...['x', 'coap:', 'coap://h?q', 'coap://a@h', '/a', `coap://${'h'.repeat(255)}`].map((base) => [
      '4.00',
      ['ep=a', `base=${base}`]
    ]),
    ...[
      'page=1',
      'count=1',
      'rt=x',
      'href=x',
      'anchor=x',
      'proxy=on',
      'di=x',
      'a b=c',
      `a=${'b'.repeat(256)}`
    ].map((more) => ['4.00', ['ep=a', more]]),
    ['4.00', ['ep=a', ...Array.from({ length: LIMITS.attributes + 1 }, (_, i) => `a${i}=1`)]]
  ];
  for (const [code, query] of wrong) {
    expect([query, (await register(device, query)).code]).toEqual([query, code]);
  }
  expect((await register(device, ['ep=a'], '</a')).code).toBe('4.00');
  expect((await register(device, ['ep=a'], '</a>', { format: 60 })).code).toBe('4.15');
  expect((await register(device, ['ep=a'], '</a>', { format: null })).code).toBe('4.15');
  expect((await register(device, ['ep=a'], '</a>', { accept: 60 })).code).toBe('4.06');
  const post = (/** @type {object} */ more) => device.request('POST', location, { accept: null, ...more });
  expect((await post({ query: ['ep=y'] })).code).toBe('4.00');
  expect((await post({ query: ['d=y'] })).code).toBe('4.00');
  expect((await post({ payload: Buffer.from('</a>'), format: 40 })).code).toBe('4.00');
  expect((await device.request('GET', location, { accept: null })).code).toBe('4.05');
  expect((await device.request('GET', '/rd', { accept: null })).code).toBe('4.05');
  expect((await device.request('POST', '/rd-lookup/ep', { accept: null })).code).toBe('4.05');
  expect((await device.request('POST', `${location}/x`, { accept: null })).code).toBe('4.04');
  expect((await device.request('GET', '/rd-lookup/gp', { accept: null })).code).toBe('4.04');
  expect(targets(await lookup(device, 'ep'))).toEqual([location]);
  const stranger = await connected();
  expect((await register(stranger, ['ep=a'])).code).toBe('4.01');
  expect((await lookup(stranger, 'ep')).code).toBe('4.01');
});

test('notifies observers of a lookup when its result changes', async () => {
  const user = newUser();
  const device = await signedIn(user);
  const reader = await signedIn(user);
  const seen = [];
  const first = await lookup(reader, 'res', ['rt=light-lux'], {
    observe: 0,
    onNext: (answer) => seen.push([answer.code, answer.format, targets(answer).length])
  });
  expect([first.code, typeof first.observe, first.payload.length]).toEqual(['2.05', 'number', 0]);
  const location = locationOf(await register(device, ['ep=lamp']));
  await eventually(() => seen.length === 1, 'the registration is noticed');
  // Another link does not change the result.
  await register(device, ['ep=other'], '</x>');
  await device.request('DELETE', location, { accept: null });
  await eventually(() => seen.length === 2, 'the removal is noticed');
  expect(seen).toEqual([
    ['2.05', 40, 1],
    ['2.05', 40, 0]
  ]);
  reader.destroy();
  await eventually(() => cloud.cloud.lookups.size === 0, 'the observation ends with its connection');
});

/** Observes a lookup, and returns the answers that follow the first. @param {any} client @param {string} kind */
async function observed(client, kind) {
  const seen = [];
  const first = await lookup(client, kind, [], { observe: 0, onNext: (answer) => seen.push(answer) });
  expect(first.code).toBe('2.05');
  return seen;
}

/** Replaces the endpoints that lookups read. @param {(rows: any[], uid: string) => any[]} change */
function changeRows(change) {
  const { store } = cloud.cloud;
  const read = store.read.bind(store);
  jest.spyOn(store, 'read').mockImplementation(async (operation, input) => {
    const rows = await read(operation, input);
    return operation === 'endpoints' ? change(rows, input.uid) : rows;
  });
}

test('notifies all observers of lookups although the store fails once', async () => {
  const device = await signedIn(newUser());
  const guest = await signedIn(newUser());
  await cloud.cloud.share(device.di, guest.uid, 'r');
  const seen = [await observed(device, 'ep'), await observed(guest, 'ep')];
  const waits = [];
  const { later } = cloud.cloud;
  jest.spyOn(cloud.cloud, 'later').mockImplementation((ms, work) => {
    waits.push(ms);
    later.call(cloud.cloud, 0, work);
  });
  let failures = 1;
  changeRows((rows) => {
    if (failures-- > 0) throw new Error('The store fails.');
    return rows;
  });
  await register(device, ['ep=one']);
  await eventually(() => seen.every(({ length }) => length === 1), 'both are notified');
  expect(seen.map(([{ code, value }]) => [code, value.includes('ep="one"')])).toEqual([
    ['2.05', true],
    ['2.05', true]
  ]);
  expect(waits).toEqual([5000]);
  expect(cloud.problems().splice(0)).toMatchObject([{ message: 'The store fails.' }]);
});

test('reads again once, however often lookups change while the store fails', async () => {
  const device = await signedIn(newUser());
  const seen = await observed(device, 'ep');
  const works = [];
  jest.spyOn(cloud.cloud, 'later').mockImplementation((_ms, work) => works.push(work));
  let isBroken = true;
  changeRows((rows) => {
    if (isBroken) throw new Error('The store fails.');
    return rows;
  });
  await register(device, ['ep=one']);
  await eventually(() => cloud.problems().length === 1, 'the first failure');
  cloud.cloud.lookups.changed();
  await eventually(() => cloud.problems().length === 2, 'the second failure');
  expect(works).toHaveLength(1);
  works[0]();
  await eventually(() => cloud.problems().length === 3, 'the third failure');
  cloud.problems().length = 0;
  expect(works).toHaveLength(2);
  isBroken = false;
  works[1]();
  await eventually(() => seen.length === 1, 'the notification');
});

test('ends an observation whose result has too many links with an error, and no other', async () => {
  const device = await signedIn(newUser());
  await register(device, ['ep=one'], Array.from({ length: 256 }, (_, i) => `</${i}>`).join());
  const tooMany = await observed(device, 'res');
  const endpoints = await observed(device, 'ep');
  changeRows((rows) => Array(33).fill(rows[0]));
  cloud.cloud.lookups.changed();
  await eventually(() => tooMany.length === 1 && endpoints.length === 1, 'both are notified');
  expect(tooMany[0]).toMatchObject({ code: '4.00', observe: undefined });
  expect(tooMany[0].value).toContain('More than 8192 links');
  expect([endpoints[0].code, targets(endpoints[0]).length]).toEqual(['2.05', 33]);
  expect(cloud.cloud.lookups.size).toBe(1);
});

test('reads at most 4 MiB of links for a lookup', async () => {
  const device = await signedIn(newUser());
  await register(device, ['ep=one']);
  const text = JSON.stringify([{ target: '/a', attributes: [] }]);
  // JSON may end with spaces.
  changeRows((rows) => Array(6).fill({ ...rows[0], links: Buffer.from(text.padEnd(1 << 20)) }));
  expect(targets(await lookup(device, 'ep'))).toHaveLength(4);
});

test(`renews an endpoint with a sector and ${LIMITS.attributes} attributes`, async () => {
  const device = await signedIn(newUser());
  const attributes = Array.from({ length: LIMITS.attributes }, (_, i) => `a${i}=1`);
  const created = await register(device, ['ep=one', 'd=sector', ...attributes]);
  expect(created.code).toBe('2.01');
  const renew = (/** @type {string[]} */ query) =>
    device.request('POST', locationOf(created), { query, accept: null });
  expect((await renew(['a0=2'])).code).toBe('2.04');
  expect((await renew(['more=1'])).code).toBe('4.00');
  const found = (await lookup(device, 'ep', ['d=sector', 'a0=2', 'a1=1'])).payload.toString();
  expect(found).toContain('ep="one"');
  expect(found).not.toContain('more');
});

test('forgets an endpoint at the end of its lifetime, and with its device', async () => {
  const user = newUser();
  const device = await signedIn(user);
  await register(device, ['ep=short', 'lt=60']);
  await register(device, ['ep=long']);
  const reader = await signedIn(user);
  expect(targets(await lookup(reader, 'ep'))).toHaveLength(2);
  await cloud.pass(61000);
  expect(targets(await lookup(reader, 'ep'))).toHaveLength(1);
  await cloud.cloud.deleteDevice(device.di);
  expect(targets(await lookup(reader, 'ep'))).toEqual([]);
});

test('keeps endpoints when it starts again', async () => {
  const user = newUser();
  const device = await signedIn(user);
  const location = locationOf(await register(device, ['ep=kept']));
  cloud = await cloud.restart();
  const again = (await connected()).as(device);
  expect((await again.signIn()).code).toBe('2.04');
  expect(targets(await lookup(again, 'ep'))).toEqual([location]);
});

test('announces the directory, and answers a query for it', async () => {
  const client = await connected();
  const core = (/** @type {string[]} */ ...query) =>
    client.request('GET', '/.well-known/core', { query, accept: 40 });
  expect(targets(await core())).toEqual(expect.arrayContaining(['/oic/res', '/rd', '/rd-lookup/res']));
  expect(targets(await core('rt=core.rd*'))).toEqual(['/rd', '/rd-lookup/res', '/rd-lookup/ep']);
  expect((await core('rt=core.rd')).payload.toString()).toBe('</rd>;rt="core.rd";ct=40');
  expect(targets(await core('rt=core.hc'))).toEqual([]);
});

test(`takes at most ${LIMITS.endpoints} endpoints of a user`, async () => {
  const device = await signedIn(newUser());
  const codes = await Promise.all(
    Array.from({ length: 5 }, async (_, block) => {
      const own = [];
      for (let i = block; i < LIMITS.endpoints; i += 5)
        own.push((await register(device, [`ep=n${i}`], '')).code);
      return own;
    })
  );
  expect(new Set(codes.flat())).toEqual(new Set(['2.01']));
  expect((await register(device, ['ep=more'])).code).toBe('5.03');
  expect((await register(device, ['ep=n0'])).code).toBe('2.01');
});
