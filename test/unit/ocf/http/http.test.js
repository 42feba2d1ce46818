'use strict';
// Requests over HTTP to devices of the OCF cloud, over real sockets on both sides.

const { startControlPlane } = require('../../../fixtures/ocf/control-plane');
const { ask, startProxy, tokenFor } = require('../../../fixtures/ocf/http-client');
const { encode } = require('../../../../flows/demo/ocf/client');
const { LIGHT, newUser, scenes } = require('../../../fixtures/ocf/scenes');

jest.setTimeout(60000);
const [ETAG, LOCATION_PATH, FORMAT, MAX_AGE, LOCATION_QUERY] = [4, 8, 12, 14, 20];
const ANY = { headers: {} };

let cloud, proxy;
beforeAll(async () => {
  cloud = await startControlPlane({ requestTimeoutMs: 1000 });
  proxy = await startProxy(cloud);
});
afterAll(async () => {
  await proxy.close();
  expect(cloud.problems()).toEqual([]);
  await cloud.stop();
});
const { signedIn, lamp } = scenes(() => cloud);

/** A device that answers as the test says, and a token of its user. */
async function device() {
  const user = newUser();
  const client = await signedIn(user);
  const token = await tokenFor(cloud, user);
  const get = (/** @type {object} */ options = {}, href = '/a') =>
    ask(proxy, `/hc/${client.di}${href}`, { token, ...options });
  return { client, token, user, get };
}

test('reads, changes and deletes a resource in JSON', async () => {
  const user = newUser();
  const client = await lamp(user);
  const token = await tokenFor(cloud, user);
  const to = (/** @type {object} */ options, query = '') =>
    ask(proxy, `/hc/${client.di}${LIGHT.href}${query}`, { token, ...options });
  const read = await to({}, '?if=oic.if.baseline');
  expect(read).toMatchObject({ status: 200, json: { on: false, query: 'if=oic.if.baseline' } });
  expect(read.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff'
  });
  const headers = { 'Content-Type': 'application/json' };
  const changed = await to({ method: 'POST', headers, body: '{"on":true}' });
  expect(changed).toMatchObject({ status: 200, json: { on: true } });
  expect(changed.headers['cache-control']).toBe('no-store');
  expect(client.state.on).toBe(true);
  expect(client.requests.at(-1).options).toEqual(
    expect.arrayContaining([[FORMAT, Buffer.from([0x27, 0x10])]])
  );
  expect(await to({ method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
  const head = await to({ method: 'HEAD' });
  expect([head.status, head.text, Number(head.headers['content-length']) > 0]).toEqual([200, '', true]);
  const standard = await ask(proxy, `/hc/coap://${client.di}${LIGHT.href}`, { token });
  expect(standard.json.on).toBe(true);
});

test('passes CBOR unchanged', async () => {
  const { client, get } = await device();
  const body = encode({ a: Buffer.from([1, 2]), b: 2 ** 40 });
  client.serve = ({ payload }) => ({ code: '2.05', body: { same: payload.equals(body) } });
  for (const type of ['application/cbor', 'application/vnd.ocf+cbor', 'application/coap-payload;cf=60']) {
    const answer = await get({ method: 'PUT', headers: { 'Content-Type': type, Accept: type }, body });
    expect([type, answer.status]).toEqual([type, 200]);
    expect(answer.headers['content-type']).toBe(type.replace('coap-payload;cf=60', 'cbor'));
    expect(answer.body.equals(encode({ same: true }))).toBe(true);
  }
});

// RFC 8075 table 2, with the notes of docs/use/ocf-http.md.
const TABLE = [
  ['2.01', 201],
  ['2.02', 204],
  ['2.04', 204],
  ['2.05', 200],
  ['2.06', 204],
  ['4.00', 400],
  ['4.01', 403],
  ['4.02', 400],
  ['4.03', 403],
  ['4.04', 404],
  ['4.05', 400],
  ['4.06', 406],
  ['4.08', 413],
  ['4.09', 409],
  ['4.12', 412],
  ['4.13', 413],
  ['4.15', 415],
  ['4.18', 400],
  ['4.22', 422],
  ['4.29', 429],
  ['5.00', 500],
  ['5.01', 501],
  ['5.02', 502],
  ['5.03', 503],
  ['5.04', 504],
  ['5.05', 502],
  ['5.31', 502]
];

test('maps each code of a device', async () => {
  const { client, get } = await device();
  const seen = [];
  for (const [code] of TABLE) {
    client.serve = () => ({ code });
    seen.push([code, (await get({ method: 'POST' })).status]);
  }
  expect(seen).toEqual(TABLE);
  client.serve = () => ({ code: '2.04', body: { a: 1 } });
  expect(await get({ method: 'POST' })).toMatchObject({ status: 200, json: { a: 1 } });
});

test('passes the sentence of an error, and an error body in JSON', async () => {
  const { client, get } = await device();
  client.serve = ({ token }) => {
    client.send({ code: 0x84, token, payload: Buffer.from('No lamp here.') });
    return undefined;
  };
  const plain = await get();
  expect([plain.status, plain.headers['content-type'], plain.text]).toEqual([
    404,
    'text/plain; charset=utf-8',
    'No lamp here.'
  ]);
  client.serve = () => ({ code: '4.00', body: { why: 'x' } });
  expect(await get()).toMatchObject({ status: 400, json: { why: 'x' } });
});

test('names the methods that replace a refused one, if the link has them', async () => {
  const { client, get } = await device();
  await client.publish([
    { href: '/r', rt: ['x'], if: ['oic.if.s', 'oic.if.baseline'] },
    { href: '/rw', rt: ['x'], if: ['oic.if.rw'] }
  ]);
  client.serve = () => ({ code: '4.05' });
  const read = await get({ method: 'POST' }, '/r');
  expect([read.status, read.headers.allow]).toEqual([405, 'GET, HEAD']);
  const write = await get({ method: 'DELETE' }, '/rw');
  expect([write.status, write.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
  expect((await get({ method: 'GET' }, '/r')).status).toBe(400);
  for (const method of ['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    const own = await get({ method }, '/r');
    expect([method, own.status, own.headers.allow]).toEqual([method, 405, 'GET, HEAD, POST, PUT, DELETE']);
  }
});

test('maps Max-Age, ETag, Location and Retry-After', async () => {
  const { client, get } = await device();
  const etag = Buffer.from('abcd', 'hex');
  client.serve = ({ options }) =>
    options.some(([number, value]) => number === ETAG && value.equals(etag))
      ? {
          code: '2.03',
          options: [
            [ETAG, etag],
            [MAX_AGE, Buffer.from([30])]
          ]
        }
      : {
          body: { v: 1 },
          options: [
            [ETAG, etag],
            [MAX_AGE, Buffer.from([30])]
          ]
        };
  const first = await get();
  expect(first.headers).toMatchObject({ etag: '"abcd-json"', 'cache-control': 'private, max-age=30' });
  const again = await get({ headers: { 'If-None-Match': String(first.headers.etag) } });
  expect([again.status, again.text, again.headers.etag]).toEqual([304, '', '"abcd-json"']);
  const other = await get({ headers: { Accept: 'application/cbor' } });
  expect(other.headers.etag).toBe('"abcd"');
  // Nobody asked for a validation.
  client.serve = () => ({ code: '2.03', options: [[ETAG, etag]] });
  expect((await get()).status).toBe(502);

  client.serve = () => ({
    code: '2.01',
    options: [
      [LOCATION_PATH, Buffer.from('new things')],
      [LOCATION_PATH, Buffer.from('7')],
      [LOCATION_QUERY, Buffer.from('a=b')]
    ]
  });
  const created = await get({ method: 'POST' });
  expect(created.headers.location).toBe(`/hc/${client.di}/new%20things/7?a=b`);
  for (const [code, status] of [
    ['4.29', 429],
    ['5.03', 503]
  ]) {
    client.serve = () => ({ code, options: [[MAX_AGE, Buffer.from([7])]] });
    expect(await get()).toMatchObject({ status, headers: { 'retry-after': '7' } });
  }
  client.serve = ({ options }) => ({ code: options.some(([number]) => number === 5) ? '4.12' : '2.04' });
  expect((await get({ method: 'PUT', headers: { 'If-None-Match': '*' } })).status).toBe(412);
});

test('refuses types that a device does not take or give', async () => {
  const { client, get } = await device();
  client.serve = () => ({ body: {} });
  const status = async (/** @type {object} */ options) => (await get(options)).status;
  const post = (/** @type {string} */ type, /** @type {string} */ body) =>
    status({ method: 'POST', headers: { ...(type && { 'Content-Type': type }) }, body });
  expect(await post('', '{}')).toBe(415);
  expect(await post('text/plain', 'x')).toBe(415);
  expect(await post('application/coap-payload;cf=42', 'x')).toBe(415);
  expect(await post('application/json', '{')).toBe(400);
  expect(await status({ method: 'POST', headers: { 'Content-Encoding': 'gzip' }, body: 'x' })).toBe(415);
  expect(await status({ method: 'GET', headers: { 'Content-Length': '1' }, body: 'x' })).toBe(400);
  expect(await status({ headers: { Accept: 'image/png' } })).toBe(406);
  expect(await status({ headers: { Accept: 'application/coap-payload;cf=0' } })).toBe(406);
  expect(await status({ headers: { Accept: 'a' } })).toBe(400);
  expect(client.requests).toEqual([]);
  // A body that is not CBOR, although it claims to be.
  client.serve = ({ token }) => {
    client.send({ code: 0x45, token, options: [[FORMAT, Buffer.from([60])]], payload: Buffer.from([0xff]) });
    return undefined;
  };
  expect(await status({ headers: { Accept: 'application/json' } })).toBe(502);
  expect(await get(ANY)).toMatchObject({ status: 200, headers: { 'content-type': 'application/cbor' } });
  client.serve = () => ({ options: [[FORMAT, Buffer.from([42])]] });
  expect(await status({ headers: { Accept: 'application/json' } })).toBe(406);
});

test('reaches only devices of the user: 404, 403, read only if shared so, 503 and 504', async () => {
  const { client, get, token } = await device();
  client.serve = () => ({ body: { a: 1 } });
  const bob = newUser();
  const guest = await signedIn(bob);
  const guestToken = await tokenFor(cloud, bob);
  const statuses = async () => [
    (await get({ token: guestToken })).status,
    (await get({ token: guestToken, method: 'POST' })).status
  ];
  expect(await statuses()).toEqual([403, 403]);
  await cloud.cloud.share(client.di, guest.uid, 'r');
  expect(await statuses()).toEqual([200, 403]);
  await cloud.cloud.share(client.di, guest.uid, 'rw');
  expect(await statuses()).toEqual([200, 200]);
  await cloud.cloud.share(client.di, guest.uid, '');
  expect(await statuses()).toEqual([403, 403]);
  const unknown = await ask(proxy, '/hc/00000000-0000-4000-8000-000000000000/a', { token });
  expect(unknown).toMatchObject({ status: 404, json: { error: 'There is no such device.' } });
  client.serve = () => undefined;
  expect((await get()).status).toBe(504);
  client.destroy();
  await client.closed;
  expect((await get()).status).toBe(503);
});

test('serves an endpoint of the resource directory in its own formats', async () => {
  const { client, token } = await device();
  const created = await client.request('POST', '/rd', {
    query: ['ep=plain'],
    payload: Buffer.from('</t>;ct="0 50"'),
    format: 40,
    accept: null
  });
  const di = created.options.filter(([number]) => number === LOCATION_PATH)[1][1].toString();
  const to = (/** @type {object} */ options) => ask(proxy, `/hc/${di}/t`, { token, ...options });
  client.serve = ({ token: own }) => {
    client.send({
      code: 0x45,
      token: own,
      options: [[FORMAT, Buffer.alloc(0)]],
      payload: Buffer.from('21.5 °C')
    });
    return undefined;
  };
  const text = await to({ headers: { Accept: 'text/plain' } });
  expect([text.status, text.headers['content-type'], text.text]).toEqual([
    200,
    'text/plain; charset=utf-8',
    '21.5 °C'
  ]);
  expect(client.requests.at(-1).options.map(([number]) => number)).toEqual([11, 17]);
  expect((await to({})).text).toBe('21.5 °C');
  const headers = { 'Content-Type': 'application/json' };
  await to({ method: 'PUT', headers, body: '{"a":1}' });
  expect(client.requests.at(-1).payload.toString()).toBe('{"a":1}');
  expect(client.requests.at(-1).options).toEqual(expect.arrayContaining([[FORMAT, Buffer.from([50])]]));
});

test('announces itself over CoAP and HTTP', async () => {
  const core = await ask(proxy, '/.well-known/core');
  expect([core.status, core.headers['content-type'], core.text]).toEqual([
    200,
    'application/link-format',
    '</hc>;rt="core.hc"'
  ]);
  expect((await ask(proxy, '/.well-known/core?rt=core.rd')).text).toBe('');
  expect((await ask(proxy, '/.well-known/core?rt=core.h*')).text).toBe('</hc>;rt="core.hc"');
  expect((await ask(proxy, '/.well-known/core', { method: 'POST' })).status).toBe(405);
  const client = await signedIn(newUser());
  const answer = await client.request('GET', '/.well-known/core', { query: ['rt=core.hc'], accept: 40 });
  expect(answer.payload.toString()).toBe('</hc>;rt="core.hc"');
  for (const path of ['/', '/hcx', '/oic/res', '/.well-known/corex']) {
    expect([path, (await ask(proxy, path)).status]).toEqual([path, 404]);
  }
});
