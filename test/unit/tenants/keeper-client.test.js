'use strict';

const fs = require('node:fs');
const { eventually } = require('../../../bench/harness/net');
const { KeeperClient } = require('../../../nodes/lib/tenants/keeper/keeper-client');
const { KeeperEvents } = require('../../../nodes/lib/tenants/keeper/keeper-events');
const { messageOf, streamMessage } = require('../../../nodes/lib/tenants/tenant-message');
const { TestKeeper } = require('../../fixtures/tenants/keeper');

const REQUEST = /** @type {const} */ ({ reason: 'records', class: 3, holder: 'test' });
const LONG = { timeoutMs: 5000 };

/** @type {TestKeeper} */
let keeper;
/** @type {KeeperClient} */
let client;
beforeEach(async () => {
  keeper = await new TestKeeper().open();
  client = new KeeperClient({ socket: keeper.socket, answerMs: 200 });
});
afterEach(() => keeper.remove());

test('asks for a lease, renews it and gives it back', async () => {
  const lease = await client.lease('acme', REQUEST, LONG);
  expect(lease).toEqual({
    id: 'l1',
    host: '127.0.0.1',
    port: 1,
    user: 'front',
    password: 'p',
    how: 'start',
    readyMs: 5
  });
  expect(keeper.requests[0]).toEqual({ method: 'POST', path: '/v1/tenants/acme/lease', body: REQUEST });
  await client.renew(lease.id);
  await client.release(lease.id);
  await client.release(lease.id);
  await expect(client.renew(lease.id)).rejects.toMatchObject({ code: 'gone', isKeeper: false });
  expect(await client.tenants()).toEqual([{ name: 'acme' }]);
});

test('waits for a slow start, but not beyond its time', async () => {
  keeper.wake = () => new Promise((resolve) => setTimeout(() => resolve({ host: '::1', port: 2 }), 400));
  expect(await client.lease('acme', REQUEST, LONG)).toMatchObject({ host: '::1', port: 2 });
  await expect(client.lease('acme', REQUEST, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'timeout',
    isKeeper: true
  });
});

test("passes on the keeper's reason and its time for the next try", async () => {
  keeper.wake = () =>
    Promise.reject(Object.assign(new Error('It crashed.'), { code: 'failed', retryMs: 4000 }));
  await expect(client.lease('acme', REQUEST, LONG)).rejects.toMatchObject({
    message: 'It crashed.',
    code: 'failed',
    retryMs: 4000,
    isKeeper: false
  });
  keeper.wake = () => Promise.reject(Object.assign(new Error('Unknown.'), { status: 404, retryMs: -1 }));
  await expect(client.lease('acme', REQUEST, LONG)).rejects.toMatchObject({ code: 'unknown', retryMs: 0 });
  await expect(client.lease('../x', REQUEST, LONG)).rejects.toMatchObject({ code: 'unknown' });
});

test.each([
  ['no socket', (/** @type {string} */ file) => fs.rmSync(file), 'ENOENT'],
  ['a file', (/** @type {string} */ file) => fs.writeFileSync(file, ''), 'ECONNREFUSED'],
  ['a socket that nobody serves', () => {}, 'ECONNREFUSED|ENOENT']
])('reports that there is %s', async (_name, change, code) => {
  await keeper.close();
  if (code === 'ECONNREFUSED' || fs.existsSync(keeper.socket)) change(keeper.socket);
  await expect(client.renew('l1')).rejects.toMatchObject({
    code: 'unreachable',
    isKeeper: true,
    message: expect.stringMatching(/^The keeper of the tenants does not answer on .* \((E[A-Z]+)\)\. .*\.$/)
  });
});

test('does not repeat a long path, or a secret in it', async () => {
  const bad = new KeeperClient({ socket: `mqtts://u:S3CRET@h/${'x'.repeat(5000)}` });
  const { message } = await bad.renew('l1').catch((error) => error);
  expect(message).not.toMatch(/S3CRET/);
  expect(message.length).toBeLessThan(300);
});

test.each([
  ['no JSON', { status: 200, body: '{' }],
  ['null', { status: 200, body: 'null' }],
  ['no id', { status: 200, body: { host: 'h', port: 1 } }],
  ['an id that is a path', { status: 200, body: { lease: '../x', host: 'h', port: 1 } }],
  ['no host', { status: 200, body: { lease: 'l', port: 1 } }],
  ['a host with a user', { status: 200, body: { lease: 'l', host: 'a@b', port: 1 } }],
  ['a port as a text', { status: 200, body: { lease: 'l', host: 'h', port: '1' } }],
  ['no end', { status: 200, body: 'x'.repeat(9 << 20) }]
])('refuses an answer with %s', async (_name, answer) => {
  keeper.answer = () => answer;
  await expect(client.lease('acme', REQUEST, LONG)).rejects.toMatchObject({
    code: 'protocol',
    isKeeper: true
  });
});

test('cancels a request', async () => {
  keeper.wake = () => new Promise(() => {});
  const controller = new AbortController();
  const asked = client.lease('acme', REQUEST, { ...LONG, signal: controller.signal });
  await eventually(() => keeper.requests.length === 1);
  controller.abort();
  await expect(asked).rejects.toMatchObject({ code: 'canceled' });
});

test('follows events, reports a lost stream, and opens it again', async () => {
  /** @type {any[]} */
  const seen = [];
  const events = new KeeperEvents(
    { socket: keeper.socket, minMs: 10, maxMs: 20 },
    { onEvent: (event) => seen.push(event), onState: (problem) => seen.push(problem) }
  );
  events.open();
  await eventually(() => keeper.streams.size === 1);
  keeper.tell({ at: 5, tenant: 'acme', event: 'ready', ms: 900, by: 'records', class: 1, extra: {} });
  await eventually(() => seen.length === 2);
  for (const stream of keeper.streams) stream.write('no JSON\n\n[]\n{"event":1}\n{"at":6,"ten');
  for (const stream of keeper.streams) stream.write('ant":"b","event":"stopped"}\n');
  await eventually(() => seen.length === 3);
  await keeper.close();
  await eventually(() => seen.length >= 4);
  await keeper.open();
  await eventually(() => seen.at(-1) === '');
  events.close();
  expect(seen[0]).toBe('');
  expect(seen[1]).toEqual({ at: 5, tenant: 'acme', event: 'ready', ms: 900, by: 'records', class: 1 });
  expect(seen[2]).toEqual({ at: 6, tenant: 'b', event: 'stopped' });
  expect(seen[3]).toMatch(/^The keeper .*\.$/);
  expect(events.malformed).toBe(3);
});

test('makes a message of each event', () => {
  expect(messageOf({ at: 5, tenant: 'acme', event: 'waking', by: 'records', class: 1 })).toEqual({
    kind: 'woken',
    msg: {
      topic: 'tenants/acme/woken',
      payload: { tenant: 'acme', event: 'woken', at: 5, by: 'records', class: 1 }
    }
  });
  expect(messageOf({ at: 5, tenant: 'acme', event: 'paused' }).msg.payload).toMatchObject({
    event: 'slept',
    how: 'paused'
  });
  expect(messageOf({ at: 5, tenant: '', event: 'isolated' })).toMatchObject({
    kind: 'other',
    msg: { topic: 'tenants/keeper/isolated' }
  });
  expect(streamMessage('Gone.', 7)).toEqual({
    topic: 'tenants/keeper/lost',
    payload: { event: 'lost', at: 7, reason: 'Gone.' }
  });
  expect(streamMessage('', 8)).toEqual({
    topic: 'tenants/keeper/connected',
    payload: { event: 'connected', at: 8 }
  });
});
