'use strict';
// The listener of an http devices node over real sockets: accepted and refused requests, and a client's limits.

const net = require('node:net');
const { once } = require('node:events');
const { CODES } = require('../../../nodes/lib/engine/inbox');
const { PortOpener } = require('../../../nodes/lib/sources/http/port-opener');
const { eventually } = require('../../../bench/harness/net');
const { openDoor, raw } = require('../../fixtures/devices/http-bench');

/** @type {Awaited<ReturnType<typeof openDoor>>} */
let bench;
const open = async (...given) => (bench = await openDoor(...given));
afterEach(async () => {
  await bench.server.close(0);
  expect(bench.errors).toEqual([]);
});

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };
describe('the opener', () => {
  test('checks an open server and its files once a second, however often the bell rings', async () => {
    bench = await openDoor();
    const { server } = bench;
    const looks = jest.spyOn(server, 'port', 'get');
    const refreshed = jest.spyOn(server, 'refresh');
    const opener = new PortOpener(server, { host: '127.0.0.1', port: 0 }, () => {});
    for (let i = 0; i < 1000; i++) opener.tick(true);
    expect(looks).toHaveBeenCalledTimes(1);
    expect(refreshed).toHaveBeenCalledTimes(1);
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
const until = (condition) => eventually(condition, { everyMs: 1, what: String(condition) });

describe('accepted', () => {
  test('one record of any content type', async () => {
    const { post, engine } = await open();
    const image = Buffer.from([0xff, 0xd8, 0]);
    expect(await post('/r/cam%2F1/front', image, { 'Content-Type': 'image/jpeg' })).toMatchObject({
      status: 200,
      body: { accepted: 1 }
    });
    await post('/r/pump-1', '{"v": 1}', JSON_TYPE);
    await post('/r/pump-1/a/b?c=critical&t=x/y&ts=1700000000000', '');
    expect(engine.taken).toMatchObject([
      { deviceId: 'cam/1', topic: 'r/cam/1/front', cls: 3, flags: 1, ts: 0, seq: -1 },
      { deviceId: 'pump-1', topic: 'r/pump-1', payload: '{"v": 1}' },
      { deviceId: 'pump-1', topic: 'x/y', cls: 1, ts: 1700000000000, payload: '' }
    ]);
  });

  test('lists, as lines and as an array', async () => {
    const { post, engine } = await open({ class: 'bulk', path: 'api/v1' });
    const lines =
      '{"deviceId":"a","payload":"21.5"}\r\n\n{"deviceId":"b","payload":{"x":1},"class":2,"topic":"t"}\n';
    expect((await post('/api/v1', lines, NDJSON)).body).toEqual({ accepted: 2 });
    expect(
      (await post('/api/v1/', '[{"deviceId":"c","payload":null,"ts":5}]', JSON_TYPE)).body.accepted
    ).toBe(1);
    expect(
      (await post('/api/v1/d/e?batch=1&c=1', '[{"payload":1},{"payload":2}]', JSON_TYPE)).body.accepted
    ).toBe(2);
    expect(engine.taken).toMatchObject([
      { deviceId: 'a', topic: 'api/v1/a', payload: '21.5', cls: 4 },
      { deviceId: 'b', topic: 't', payload: '{"x":1}', cls: 2 },
      { deviceId: 'c', topic: 'api/v1/c', payload: 'null', ts: 5 },
      { deviceId: 'd', topic: 'api/v1/d/e', payload: '1', cls: 1 },
      { deviceId: 'd', payload: '2' }
    ]);
  });

  test('the trace context of the request, or of a record of its own', async () => {
    const { post, engine } = await open();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const own = traceparent.replace('4bf9', '5bf9');
    await post('/r/a', '1', { ...JSON_TYPE, traceparent, tracestate: 'a=b' });
    const list = JSON.stringify([
      { deviceId: 'a', payload: 1 },
      { deviceId: 'a', payload: 2, traceparent: own }
    ]);
    await post('/r/', list, { ...JSON_TYPE, traceparent });
    await post('/r/a', '1', { ...JSON_TYPE, traceparent: 'nonsense' });
    expect(engine.taken.map(({ trace }) => trace)).toEqual([`${traceparent}a=b`, traceparent, own, '']);
  });

  test('sends 200 when the last record is safe', async () => {
    const { post, engine } = await open();
    engine.isSafeAtOnce = false;
    let status = 0;
    const answer = post('/r', '[{"deviceId":"a","payload":1},{"deviceId":"a","payload":2}]', JSON_TYPE);
    void answer.then((response) => (status = response.status));
    await until(() => engine.waiting.length === 2);
    engine.waiting[1]();
    await turn();
    expect(status).toBe(0);
    engine.waiting[0]();
    expect((await answer).status).toBe(200);
  });
});

describe('refused, with no part accepted', () => {
  const record = '{"deviceId":"a","payload":1}';

  test.each([
    ['another path', '/x/a', '1', {}, 404],
    ['no device', '/r//t', '1', {}, 404],
    ['an address that is not UTF-8', '/r/%ff', '1', {}, 400],
    ['a % alone', '/r/%', '1', {}, 400],
    ['NUL in a device id', '/r/a%00', '1', {}, 400],
    ['a wildcard in a topic', '/r/a/%23', '1', {}, 400],
    ['a device id of 257 bytes', `/r/${'x'.repeat(257)}`, '1', {}, 400],
    ['an unknown class', '/r/a?c=9', '1', {}, 400],
    ['a time that is none', '/r/a?ts=soon', '1', {}, 400],
    ['a part of a millisecond', '/r/a?ts=1.5', '1', {}, 400],
    [
      'a part of a millisecond in a list',
      '/r',
      '[{"deviceId":"a","ts":1e12,"payload":1},{"deviceId":"a","ts":0.5,"payload":1}]',
      JSON_TYPE,
      400
    ],
    ['a payload over the packet limit', '/r/a', 'x'.repeat(10001), {}, 413],
    ['a body over the limit', '/r/a', 'x'.repeat(20000), {}, 413],
    ['a compressed body', '/r/a', '1', { 'Content-Encoding': 'gzip' }, 415],
    ['text at the list', '/r', '1', { 'Content-Type': 'text/plain' }, 415],
    ['a list of another type', '/r/a?batch=1', '[]', { 'Content-Type': 'text/csv' }, 415],
    ['no JSON', '/r', '[', JSON_TYPE, 400],
    ['no array', '/r', record, JSON_TYPE, 400],
    ['an empty array', '/r', '[]', JSON_TYPE, 400],
    ['no lines', '/r', '\n\n', NDJSON, 400],
    ['a list that is not UTF-8', '/r', Buffer.from([0x5b, 0xff, 0x5d]), JSON_TYPE, 400],
    ['a thousand levels of brackets', '/r', '['.repeat(9000), JSON_TYPE, 400],
    ['a record without a device', '/r', '[{"payload":1}]', JSON_TYPE, 400],
    ['a record without a payload', '/r/a', '{"deviceId":"a"}', NDJSON, 400],
    ['a record of another device', '/r/b', record, NDJSON, 400],
    ['a record that is a number', '/r', '7', NDJSON, 400],
    ['a device id that is a number', '/r', '[{"deviceId":7,"payload":1}]', JSON_TYPE, 400],
    ['a topic that is a number', '/r', '[{"deviceId":"a","topic":7,"payload":1}]', JSON_TYPE, 400],
    ['a class that is an object', '/r', '[{"deviceId":"a","class":{},"payload":1}]', JSON_TYPE, 400],
    ['a time before 1970', '/r', '[{"deviceId":"a","ts":-1,"payload":1}]', JSON_TYPE, 400],
    ['a device id with +, as a topic', '/r', '[{"deviceId":"a+","payload":1}]', JSON_TYPE, 400],
    ['an Idempotency-Key with a space', '/r/a', '1', { 'Idempotency-Key': 'a b' }, 400],
    ['a web page', '/r/a', '1', { Origin: 'http://evil.example' }, 403]
  ])('%s', async (_name, target, body, headers, status) => {
    const { post, engine, requests } = await open({ maxBodyKiB: 16 });
    const answer = await post(target, body, headers);
    expect([answer.status, typeof answer.body.error]).toEqual([status, 'string']);
    expect(engine.taken).toEqual([]);
    expect(requests.refused).toEqual({ [status]: 1 });
  });

  test.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s', async (method) => {
    const { post } = await open();
    const { status, headers } = await post('/r/a', '', {}, method);
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('names the bad line of a list, and takes none of its records', async () => {
    const { post, engine } = await open();
    const { status, body } = await post('/r', `${record}\n\n${record}\n{"deviceId":"a"}\n${record}`, NDJSON);
    expect([status, body]).toEqual([
      400,
      { error: 'Line 4: The record has no "payload".', line: 4, accepted: 0 }
    ]);
    expect(engine.taken).toEqual([]);
    expect((await post('/r', `[${record},[]]`, JSON_TYPE)).body.record).toBe(2);
  });

  test('refuses more than 10,000 records', async () => {
    const { post } = await open();
    expect((await post('/r/a', '{"payload":1}\n'.repeat(10001), NDJSON)).status).toBe(413);
  });
});

describe('unsafe', () => {
  const three = '{"payload":1}\n{"payload":2}\n{"payload":3}\n';

  test('answers 503 with the accepted count when the engine fills up meanwhile', async () => {
    const { post, engine } = await open();
    engine.room = 2;
    const { status, headers, body } = await post('/r/a', three, NDJSON);
    expect([status, body]).toEqual([503, { error: 'The engine is full.', line: 3, accepted: 2 }]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await post('/r/a', '1')).body).toEqual({ error: 'The engine is full.', accepted: 0 });
  });

  test('answers 503 with the pending count when safety takes too long', async () => {
    const { post, engine } = await open({ safeTimeoutS: 1 });
    engine.isSafeAtOnce = false;
    const answer = post('/r/a', three, NDJSON);
    await until(() => engine.waiting.length === 3);
    engine.waiting[0]();
    expect(await answer).toMatchObject({ status: 503, body: { line: 2, accepted: 1, pending: 2 } });
    for (const done of engine.waiting.slice(1)) done();
  });

  test('releases its place when the engine throws, and accepts the request again', async () => {
    const { post, engine, requests, errors } = await open();
    const put = engine.put;
    engine.put = () => {
      throw new TypeError('not taken');
    };
    const key = { 'Idempotency-Key': 'k' };
    expect((await post('/r/a', '1', key)).status).toBe(500);
    expect(requests.pending).toBe(0);
    expect(errors.splice(0).map(({ message }) => message)).toEqual(['not taken']);
    engine.put = put;
    expect(await post('/r/a', '1', key)).toMatchObject({ status: 200, body: { accepted: 1 } });
  });

  test('answers 503 for a dropped record, and 413 for one over the packet limit of the engine', async () => {
    const { post, engine } = await open();
    engine.put = (_args, done) => done(Object.assign(new Error('dropped'), { code: CODES.DROPPED }));
    expect(await post('/r/a', '1')).toMatchObject({ status: 503, body: { error: 'dropped', accepted: 0 } });
    engine.put = (_args, done) => done(Object.assign(new Error('long'), { code: CODES.TOO_LONG }));
    expect((await post('/r/a', '1')).status).toBe(413);
  });

  test('resumes a repeated request with an Idempotency-Key, and stores nothing twice', async () => {
    let now = 0;
    const { post, engine } = await open({}, { now: () => now });
    const key = { ...NDJSON, 'Idempotency-Key': 'k1' };
    engine.room = 2;
    expect((await post('/r/a', three, key)).status).toBe(503);
    engine.room = 9;
    expect((await post('/r/a', three, key)).body).toEqual({ accepted: 3 });
    expect((await post('/r/a', three, key)).body).toEqual({ accepted: 3 });
    expect(engine.taken.map(({ payload }) => payload)).toEqual(['1', '2', '3']);
    expect((await post('/r/a', '{"payload":9}', key)).status).toBe(422);
    now = 600001;
    await post('/r/a', three, key);
    expect(engine.taken).toHaveLength(6);
  });

  test('treats two concurrent requests with one key as one', async () => {
    const { post, engine } = await open();
    engine.isSafeAtOnce = false;
    const both = [1, 2].map(() => post('/r/a', '1', { 'Idempotency-Key': 'k' }));
    await until(() => engine.waiting.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    engine.waiting[0]();
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
    expect(engine.taken).toHaveLength(1);
  });
});

test('answers 429 with the time to wait to a device over its rate, but not to others', async () => {
  let now = 0;
  const { post } = await open({ rate: 2, burst: 3 }, { now: () => now });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await post('/r/a', '1')).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await post('/r/a', '1')).headers.get('retry-after')).toBe('1');
  expect((await post('/r/b', '1')).status).toBe(200);
  now = 500;
  expect((await post('/r/a', '1')).status).toBe(200);
});

test('lets web pages of the allowed origins send and ask before', async () => {
  const { post } = await open({ corsOrigins: 'https://app.example' });
  const Origin = 'https://app.example';
  const asked = await post('/r/a', '', { Origin }, 'OPTIONS');
  expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, Origin]);
  expect((await post('/r/a', '1', { Origin })).status).toBe(200);
  expect((await post('/r/a', '1', { Origin: 'https://other.example' })).status).toBe(403);
});

describe('clients that hold on', () => {
  const HEAD = 'POST /r/a HTTP/1.1\r\nHost: x\r\n';

  test.each([
    ['sends nothing', ''],
    ['never ends its header', HEAD],
    ['never ends its body', `${HEAD}Content-Length: 10\r\n\r\n12`]
  ])('closes one that %s', async (_name, bytes) => {
    const { server, engine } = await open({ headerTimeoutS: 1, bodyTimeoutS: 1 });
    const { text, isClosed } = await raw(server.port, bytes);
    expect(isClosed).toBe(true);
    expect(text === '' || text.startsWith('HTTP/1.1 408')).toBe(true);
    expect(engine.taken).toEqual([]);
  });

  test.each([
    ['no HTTP', '\x16\x03\x01\x02\x00', 400],
    ['a header over 16 KiB', `${HEAD}X: ${'x'.repeat(20000)}\r\n\r\n`, 431],
    ['two lengths', `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n1`, 400],
    ['a length and chunks', `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['a length that is no number', `${HEAD}Content-Length: -1\r\n\r\n`, 400],
    ['a chunk that is none', `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ['no host', 'POST /r/a HTTP/1.1\r\nContent-Length: 0\r\n\r\n', 400],
    ['a line feed in a header', 'POST /r/a HTTP/1.1\r\nHost: x\r\nA: b\nc\r\n\r\n', 400]
  ])('%s', async (_name, bytes, status) => {
    const { server, engine } = await open();
    const { text, isClosed } = await raw(server.port, bytes);
    expect([isClosed, text.slice(0, 12)]).toEqual([true, `HTTP/1.1 ${status}`]);
    expect(engine.taken).toEqual([]);
  });

  test('answers 413 to chunks over the limit, and the client can read it', async () => {
    const { server } = await open({ maxBodyKiB: 1 });
    const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
    const { text } = await raw(
      server.port,
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(50)}0\r\n\r\n`
    );
    expect(text).toMatch(/^HTTP\/1.1 413 /);
  });

  test('gets no body from a client that asks before it sends one that is too large', async () => {
    const { server } = await open({ maxBodyKiB: 1 });
    const { text } = await raw(
      server.port,
      `${HEAD}Content-Length: 9999\r\nExpect: 100-continue\r\n\r\n`,
      2000
    );
    expect(text).toMatch(/^HTTP\/1.1 413 /);
    const small = await raw(server.port, `${HEAD}Content-Length: 1\r\nExpect: 100-continue\r\n\r\n1`, 300);
    expect(small.text).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200/);
  });

  test('ends the oldest idle connection for one too many, and keeps a busy one', async () => {
    const { server, engine, url } = await open({ maxConnections: 3 });
    engine.isSafeAtOnce = false;
    const busy = fetch(`${url}/r/a`, { method: 'POST', body: '1' });
    await until(() => engine.waiting.length === 1);
    const idle = Array.from({ length: 20 }, () => net.connect(server.port, '127.0.0.1'));
    for (const socket of idle) socket.on('error', () => {}).on('data', () => {});
    await until(() => server.connections.turnedAway === 18);
    expect(server.connections.size).toBe(3);
    engine.waiting[0]();
    expect((await busy).status).toBe(200);
    for (const socket of idle) socket.destroy();
  });

  test('distinguishes two connections of one address and port', async () => {
    const { server } = await open({ host: '0.0.0.0', allowAnonymous: true });
    const to = async (host, localPort) => {
      const socket = net.connect({ port: server.port, host, localAddress: '127.0.0.9', localPort });
      socket.on('error', () => {});
      await once(socket, 'connect');
      return socket;
    };
    const first = await to('127.0.0.1', 0);
    const second = await to('127.0.0.2', first.localPort);
    await until(() => server.connections.size === 2);
    first.destroy();
    await until(() => server.connections.size === 1);
    second.write(`${HEAD}Content-Length: 1\r\n\r\n1`);
    expect(String(await once(second, 'data'))).toMatch(/^HTTP\/1\.1 200/);
    second.destroy();
    await until(() => server.connections.size === 0);
  });

  test('gives the bodies of all clients together a budget', async () => {
    const { server, requests } = await open({ maxBodyKiB: 1024 });
    requests.bodies.free = 1000;
    const half = `${HEAD}Content-Length: 900\r\n\r\n${'x'.repeat(600)}`;
    const first = raw(server.port, half, 500);
    await until(() => requests.bodies.free === 400);
    const { text } = await raw(
      server.port,
      `${HEAD}Content-Length: 600\r\nConnection: close\r\n\r\n${'x'.repeat(600)}`
    );
    expect(text).toMatch(/^HTTP\/1.1 503 [^]*Retry-After: 1/);
    await first;
    await until(() => requests.bodies.free === 1000);
  });

  test('leaves nothing behind when a client disconnects in the middle', async () => {
    const { server, requests, engine } = await open();
    await raw(server.port, `${HEAD}Content-Length: 10\r\n\r\n123`, 50);
    await until(() => requests.refused[400] === 1);
    expect([engine.taken, server.connections.size]).toEqual([[], 0]);
  });
});

test('answers open requests at the end, and takes no new ones', async () => {
  const { server, engine, post, url } = await open();
  engine.isSafeAtOnce = false;
  const answer = post('/r/a', '1');
  await until(() => engine.waiting.length === 1);
  const closed = server.close(5000);
  await expect(fetch(`${url}/r/a`, { method: 'POST' })).rejects.toThrow();
  engine.waiting[0]();
  expect((await answer).status).toBe(200);
  await closed;
});
