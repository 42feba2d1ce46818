'use strict';
// Who may use the HTTP port of the OCF cloud, streams of events, and hostile requests.

const { startControlPlane } = require('../../../fixtures/ocf/control-plane');
const { ask, listen, startProxy, tokenFor } = require('../../../fixtures/ocf/http-client');
const { LIGHT, eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');
const { MOST_FAILURES } = require('../../../../nodes/lib/ocf/cloud/attempts');
const { MOST_TOKENS, newUserToken } = require('../../../../nodes/lib/ocf/cloud/user-tokens');
const { seeded } = require('../../../fixtures/random');

jest.setTimeout(60000);
const seed = Number(process.env.SEGANET_SEED ?? 1);
const STREAMS = 3;

let cloud, proxy;
beforeEach(async () => {
  cloud = await startControlPlane({ accessSeconds: -1 });
  proxy = await startProxy(cloud, {}, { heartbeatMs: 50, streamsOfUser: STREAMS });
});
afterEach(async () => {
  await proxy.close();
  expect(cloud.problems()).toEqual([]);
  await cloud.stop();
});
const { signedIn, lamp } = scenes(() => cloud);

/** A lamp that can be observed, its address, and a token of its user. */
async function scene() {
  const user = newUser();
  const client = await lamp(user);
  const token = await tokenFor(cloud, user);
  return { client, user, token, path: `/hc/${client.di}${LIGHT.href}` };
}

/** Notices what seganet-accounts changed, as the cloud does it every two seconds. */
async function reconcile() {
  const upkeep = new (require('../../../../nodes/lib/ocf/cloud/upkeep').Upkeep)(cloud.cloud);
  await upkeep.reconcile();
}

test('asks for a token, and says when it is wrong', async () => {
  const { path, token } = await scene();
  const none = await ask(proxy, path);
  expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="seganet"']);
  for (const value of [
    'Bearer x',
    'Basic YTpi',
    'Bearer',
    `Bearer ${token}x`,
    `bearer  ${token.slice(1)}`,
    token
  ]) {
    const wrong = await ask(proxy, path, { headers: { Authorization: value } });
    expect([value, wrong.status]).toEqual([value, 401]);
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="seganet", error="invalid_token"');
  }
  expect((await ask(proxy, path, { headers: { Authorization: `bearer ${token}` } })).status).toBe(200);
  // Tokens of devices are for CoAP only.
  const client = await signedIn(newUser());
  expect((await ask(proxy, path, { token: client.access })).status).toBe(401);
  expect((await ask(proxy, `${path}?access_token=${token}`)).status).toBe(401);
  expect((await ask(proxy, path, { token })).headers).not.toHaveProperty('set-cookie');
  const page = await ask(proxy, path, { token, headers: { Origin: 'https://example.com' } });
  expect(page.headers).not.toHaveProperty('access-control-allow-origin');
});

test('limits wrong tokens of an address, and lets those that were right before pass', async () => {
  const { path, token, user } = await scene();
  const later = await tokenFor(cloud, user);
  expect((await ask(proxy, path, { token })).status).toBe(200);
  for (let i = 0; i < MOST_FAILURES; i++)
    expect((await ask(proxy, path, { token: `w${i}` })).status).toBe(401);
  const limited = await ask(proxy, path, { token: 'w' });
  expect([limited.status, Number(limited.headers['retry-after']) > 0]).toEqual([429, true]);
  expect((await ask(proxy, path, { token: later })).status).toBe(429);
  expect((await ask(proxy, path, { token })).status).toBe(200);
  expect((await ask(proxy, path)).status).toBe(401);
  await cloud.pass(61000);
  expect((await ask(proxy, path, { token: later })).status).toBe(200);
});

test('stops to accept a token that was revoked or expired, or whose user was deleted', async () => {
  const { path, user, token, client } = await scene();
  const { token: short, id } = await newUserToken(cloud.store, user, { days: 1 });
  const status = async (/** @type {string} */ each) => (await ask(proxy, path, { token: each })).status;
  expect([await status(token), await status(short)]).toEqual([200, 200]);
  expect(await cloud.store.write('removeUserToken', { id })).toBe(true);
  await reconcile();
  expect([await status(token), await status(short)]).toEqual([200, 401]);
  await cloud.store.write('removeUser', { uid: client.uid });
  await reconcile();
  expect(await status(token)).toBe(401);
  const other = await scene();
  expect((await ask(proxy, other.path, { token: other.token })).status).toBe(200);
  await cloud.pass(91 * 86400000);
  expect((await ask(proxy, other.path, { token: other.token })).status).toBe(401);
});

test(`makes at most ${MOST_TOKENS} tokens for a user`, async () => {
  const user = newUser();
  for (let i = 0; i < MOST_TOKENS; i++) expect(await newUserToken(cloud.store, user)).not.toBeNull();
  expect(await newUserToken(cloud.store, user)).toBeNull();
});

test('streams the values of a resource', async () => {
  const { client, token, path } = await scene();
  const stream = await listen(proxy, path, token);
  expect([stream.status, stream.headers['content-type'], stream.headers['cache-control']]).toEqual([
    200,
    'text/event-stream',
    'no-store'
  ]);
  const headers = { 'Content-Type': 'application/json' };
  expect((await ask(proxy, path, { token, method: 'POST', headers, body: '{"on":true}' })).status).toBe(200);
  await eventually(() => stream.events().length === 2, 'the change is an event');
  expect(stream.events()).toEqual([
    { id: 1, data: { on: false, query: '' } },
    { id: 2, data: { on: true } }
  ]);
  await eventually(() => stream.text.includes('\n\n:\n\n'), 'a comment keeps the connection');
  expect([client.observers.length, proxy.streams]).toEqual([1, 1]);
  stream.request.destroy();
  await eventually(() => client.observers.length === 0, 'the observation ends with its client');
  expect(proxy.streams).toBe(0);
});

test('ends a stream with its right, its token, its device, and the cloud', async () => {
  const { client, path } = await scene();
  const bob = newUser();
  const guest = await signedIn(bob);
  const { token, id } = /** @type {any} */ (await newUserToken(cloud.store, bob));
  const ended = async (/** @type {any} */ stream) => {
    await eventually(() => stream.isOver, 'the stream ends');
    return stream.events().at(-1);
  };
  await cloud.cloud.share(client.di, guest.uid, 'r');
  const first = await listen(proxy, path, token);
  expect(first.status).toBe(200);
  await cloud.cloud.share(client.di, guest.uid, '');
  expect(await ended(first)).toMatchObject({ event: 'end', data: { status: 403 } });

  await cloud.cloud.share(client.di, guest.uid, 'r');
  const second = await listen(proxy, path, token);
  await cloud.store.write('removeUserToken', { id });
  await reconcile();
  expect(await ended(second)).toMatchObject({ event: 'end', data: { status: 401 } });

  const fresh = await tokenFor(cloud, bob);
  const third = await listen(proxy, path, fresh);
  await cloud.pass(91 * 86400000);
  expect(await ended(third)).toMatchObject({ event: 'end', data: { status: 401 } });

  const own = await scene();
  const fourth = await listen(proxy, own.path, own.token);
  own.client.destroy();
  expect(await ended(fourth)).toMatchObject({ event: 'end', data: { status: 503 } });
  const last = await scene();
  const fifth = await listen(proxy, last.path, last.token);
  await proxy.close();
  expect(await ended(fifth)).toMatchObject({ event: 'end', data: { status: 503 } });
  expect(proxy.streams).toBe(0);
});

test('answers a stream that cannot start, and ends one of a resource that cannot be observed', async () => {
  const { client, token, path } = await scene();
  client.serve = () => ({ code: '4.04' });
  expect((await listen(proxy, path, token)).status).toBe(404);
  client.serve = () => ({ body: { a: 1 } });
  const once = await listen(proxy, path, token);
  await eventually(() => once.isOver, 'it ends');
  expect(once.events()).toEqual([
    { id: 1, data: { a: 1 } },
    { event: 'end', data: { status: 200, error: 'The resource cannot be observed.' } }
  ]);
  expect((await listen(proxy, path, 'x')).status).toBe(401);
  expect(proxy.streams).toBe(0);
});

test(`opens at most ${STREAMS} streams of a user here`, async () => {
  const { token, path } = await scene();
  for (let i = 0; i < STREAMS; i++) expect((await listen(proxy, path, token)).status).toBe(200);
  const refused = await listen(proxy, path, token);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
  const other = await scene();
  expect((await listen(proxy, other.path, other.token)).status).toBe(200);
});

test('keeps only the latest value for a client that does not read', async () => {
  const { client, token, path } = await scene();
  const patient = await startProxy(cloud, {}, { heartbeatMs: 60000 });
  const stream = await listen(patient, path, token);
  stream.response.pause();
  const [observer] = client.observers;
  const big = 'x'.repeat(60000);
  for (let i = 0; i < 400; i++) client.respond(observer.token, { observe: i + 3, body: { i, big } });
  // The device's answers have all arrived when this request is answered.
  expect((await ask(proxy, path, { token })).status).toBe(200);
  stream.response.resume();
  await eventually(() => stream.text.includes('"i":399'), 'the last value arrives');
  expect(stream.events().length).toBeLessThan(400);
  await patient.close();
});

test('cuts off a client that does not read for three heartbeats', async () => {
  const { client, token, path } = await scene();
  const stream = await listen(proxy, path, token);
  stream.response.pause();
  const [observer] = client.observers;
  const big = 'x'.repeat(60000);
  let next = 3;
  await eventually(() => {
    // More than the buffers of both sockets take.
    for (let i = 0; i < 10; i++) client.respond(observer.token, { observe: ++next, body: { big } });
    return proxy.streams === 0;
  }, 'the stream ends');
  await eventually(() => client.observers.length === 0, 'the observation ends');
});

test(`survives any address, and shows no user another user's device (seed ${seed})`, async () => {
  const { client, token } = await scene();
  const victim = await lamp(newUser());
  const { integer: random } = seeded(seed);
  const pieces = [
    ...[
      '/',
      '//',
      '.',
      '..',
      '%2e%2e',
      '%2f',
      '%00',
      '%',
      '%ff',
      '%C3%28',
      '?',
      '&',
      '=',
      '#',
      ';',
      '\\',
      '+',
      '*'
    ],
    ...[
      'hc',
      'oic',
      'route',
      'coap://',
      'coaps+tcp://',
      'http://',
      '@',
      ':5683',
      '[::1]',
      '127.0.0.1',
      'light',
      '1'
    ],
    ...[client.di, victim.di, 'rd', '.well-known/core', 'ä'.normalize(), 'x'.repeat(300)]
  ].map((piece) => encodeURI(piece).replace(/%25/g, '%'));
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
  const accepts = [
    '*/*',
    'text/event-stream',
    'application/json',
    '',
    'application/cbor;q=0',
    ',,',
    'a/b;q=1;x="'
  ];
  const types = ['application/json', 'application/cbor', 'application/coap-payload;cf=1', 'x', ''];
  const statuses = new Set();
  const before = victim.requests.length;
  for (let round = 0; round < 600; round++) {
    const start = random(4) === 0 ? '/' : `/hc/${[client.di, victim.di][random(2)]}/`;
    const path = start + Array.from({ length: random(8) }, () => pieces[random(pieces.length)]).join('');
    const method = methods[random(methods.length)];
    const body =
      /P/.test(method) && random(2) === 0
        ? Buffer.from(Array.from({ length: random(40) }, () => random(256)))
        : undefined;
    const headers = { Accept: accepts[random(accepts.length)], 'Content-Type': types[random(types.length)] };
    const status = await new Promise((resolve, reject) => {
      const request = require('node:http').request({
        host: '127.0.0.1',
        port: proxy.port,
        path,
        method,
        headers: { ...headers, Authorization: `Bearer ${token}` }
      });
      request.once('error', reject);
      request.once('response', (response) => {
        response.resume();
        response.on('error', () => {});
        // A stream of events does not end by itself.
        if (response.headers['content-type'] === 'text/event-stream') response.destroy();
        response.once('close', () => resolve(response.statusCode));
      });
      request.end(body);
    });
    statuses.add(status);
    expect([round, path, status < 500]).toEqual([round, path, true]);
  }
  expect(victim.requests.length).toBe(before);
  expect([...statuses].sort()).toEqual(expect.arrayContaining([400, 403, 404, 405]));
  await eventually(() => proxy.streams === 0, 'streams end');
});
