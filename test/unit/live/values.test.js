'use strict';
// GET /seganet/values, /seganet/topics and /seganet/values/stream, with a real engine.

const express = require('express');
const { Engine } = require('../../../native');
const { viewLive } = require('../../fixtures/gateway/live-viewer');
const { addValues } = require('../../../nodes/lib/live/value-endpoints');
const { MAX_LISTENERS, MAX_ROWS } = require('../../../nodes/lib/live/value-stream');
const { stage, until, usualPlan } = require('../../native/support/addon');

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function startEngine(options = {}) {
  const engine = new Engine({ workers: 2, valuesMiB: 16, memoryMiB: 64, ...options }, () => {});
  engine.applyPlan(usualPlan());
  cleanups.push(() => engine.close());
  return engine;
}

/** Serves these engines. */
async function serve(
  engines = [{ id: 'e1', host: { engine: startEngine(), keepsValues: true }, reason: '' }],
  details = /** @type {import('../../../nodes/lib/live/value-endpoints').AddDetails[]} */ ([])
) {
  /** @type {Error[]} */
  const faults = [];
  const app = express();
  const mayRead = (
    /** @type {any} */ request,
    /** @type {any} */ response,
    /** @type {() => void} */ next
  ) => (request.headers.authorization === 'none' ? response.status(401).end() : next());
  addValues(
    app,
    mayRead,
    () => /** @type {any} */ (engines),
    (error) => void faults.push(error),
    () => details
  );
  /** @type {import('node:http').Server} */
  const server = await new Promise((resolve) => {
    const opened = app.listen(0, '127.0.0.1', () => resolve(opened));
  });
  cleanups.push(
    () => server.closeAllConnections(),
    () => server.close()
  );
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const url = `http://127.0.0.1:${port}/seganet/`;
  const get = async (/** @type {string} */ path, headers = {}) => {
    const response = await fetch(url + path, { headers });
    return { status: response.status, body: response.status === 401 ? null : await response.json() };
  };
  const follow = async (query = '') => {
    const viewer = await viewLive(`${url}values/stream${query}`);
    cleanups.push(() => viewer.close());
    return viewer;
  };
  return { engine: engines[0].host.engine, engines, faults, url, get, follow };
}

/** @param {Engine} engine @param {string} device @param {string} topic @param {string | Buffer} payload */
const push = (engine, device, topic, payload = '1') =>
  expect(engine.push(stage.ingest, device, topic, Buffer.from(payload), 0, 0, 0, -1, 0)).toBe(0);

/** @param {Engine} engine @param {number} count */
const keeps = (engine, count) => until(() => engine.stats().keptValues === count, `${count} values`);

/** @param {{ values: { device: string, topic: string }[] }} page */
const names = ({ values }) => values.map(({ device, topic }) => `${device}:${topic}`).join(' ');

test('has what capabilities know of the values only if that is asked for', async () => {
  const { engines, engine, get } = await serve(undefined, [
    (host, rows) => rows.forEach((row) => Object.assign(row, { known: host === engines[0].host }))
  ]);
  push(engine, 'a', '1');
  await keeps(engine, 1);
  expect((await get('values?details=1')).body.values[0]).toMatchObject({ device: 'a', known: true });
  for (const query of ['', '?details=', '?details=0'])
    expect((await get(`values${query}`)).body.values[0]).not.toHaveProperty('known');
  expect((await get('values?details=true')).status).toBe(400);
});

test('answers with text, base64, or a mark for what was too long', async () => {
  const { engine, get } = await serve();
  push(engine, 'a', '1', '{"on":true,"temp":21.5}');
  push(engine, 'a', '2', Buffer.from([0xff, 0]));
  push(engine, 'a', '3', 'x'.repeat(1025));
  push(engine, 'a', '4', '<script>\0');
  await keeps(engine, 4);
  const { status, body } = await get('values');
  expect([status, Object.keys(body)]).toEqual([200, ['values']]);
  const [json, binary, cut, hostile] = body.values;
  expect(json).toEqual({
    device: 'a',
    topic: '1',
    ts: expect.any(Number),
    class: 3,
    seq: 0,
    size: 23,
    payload: '{"on":true,"temp":21.5}',
    number: 21.5,
    line: [...Array(59).fill(null), 21.5]
  });
  expect(binary).toMatchObject({ base64: '/wA=', size: 2, number: null, line: [] });
  expect(cut).toMatchObject({ cut: true, size: 1025 });
  expect([cut.payload, cut.base64, binary.payload]).toEqual([undefined, undefined, undefined]);
  expect(hostile.payload).toBe('<script>\0');
});

test('pages through thousands of values, also those of which few match', async () => {
  const { engine, get } = await serve();
  for (let i = 0; i < 6000; i++) push(engine, `d${i}`, i % 1000 ? 'plant/x' : 'plant/rare', `v${i}`);
  await keeps(engine, 6000);
  let seen = 0;
  let after = '';
  do {
    const { body } = await get(`values?limit=1000&after=${after}`);
    seen += body.values.length;
    after = body.next;
  } while (after);
  expect(seen).toBe(6000);
  expect(names((await get('values?topic=plant/rare')).body)).toBe(
    'd0:plant/rare d1000:plant/rare d2000:plant/rare d3000:plant/rare d4000:plant/rare d5000:plant/rare'
  );
  expect(names((await get('values?q=V5999')).body)).toBe('d5999:plant/x');
  expect(names((await get('values?device=d42&topic=%2B/x')).body)).toBe('d42:plant/x');
  expect((await get('values?q=nothing')).body).toEqual({ values: [] });
  const { body: top } = await get('topics');
  expect(top.topics).toEqual([
    { level: 'plant', topic: 'plant', hasChildren: true, values: 6000, ts: expect.any(Number) }
  ]);
  const { body: below } = await get('topics?prefix=plant');
  expect(below.topics.map(({ topic, values }) => [topic, values])).toEqual([
    ['plant/rare', 6],
    ['plant/x', 5994]
  ]);
});

test('lists levels without a name, and at most a thousand', async () => {
  const { engine, get } = await serve();
  push(engine, 'a', '/wb/x');
  push(engine, 'a', 'wb');
  push(engine, 'a', 'wb/y');
  push(engine, 'a', '//x');
  await keeps(engine, 4);
  const topics = async (prefix) =>
    (await get(`topics?prefix=${prefix}`)).body.topics.map(({ topic, hasChildren, values }) => [topic, hasChildren, values]); // prettier-ignore
  expect(await topics('')).toEqual([
    ['/', true, 2],
    ['wb', true, 2]
  ]);
  expect(await topics('/')).toEqual([
    ['//', true, 1],
    ['/wb', true, 1]
  ]);
  expect(await topics('//')).toEqual([['//x', false, 1]]);
  expect(await topics('/wb')).toEqual([['/wb/x', false, 1]]);
  expect(await topics('wb')).toEqual([['wb/y', false, 1]]);
  expect(await topics('none')).toEqual([]);
  for (let i = 0; i < 1001; i++) push(engine, `d${i}`, `many/${i}`);
  await keeps(engine, 1005);
  const { body } = await get('topics?prefix=many');
  expect([body.topics.length, body.more]).toEqual([1000, true]);
});

test('returns what was received after a time', async () => {
  const { engine, get } = await serve();
  push(engine, 'old', 't');
  await keeps(engine, 1);
  await new Promise((resolve) => setTimeout(resolve, 60));
  const since = Date.now() - 20;
  push(engine, 'new', 't');
  push(engine, 'newer', 't');
  await keeps(engine, 3);
  expect((await get(`values?since=${since}`)).body.values.map(({ device }) => device).sort()).toEqual([
    'new',
    'newer'
  ]);
  expect((await get(`values?since=${since}&limit=1`)).body).toMatchObject({ values: [{}], more: true });
  expect((await get(`values?since=${Date.now() + 10000}`)).body.values).toEqual([]);
  expect((await get('values?since=0')).body.values).toHaveLength(3);
});

test.each([
  ['values?limit=0', /^limit must be a number from 1 to 1000/],
  ['values?limit=1001', /^limit must be/],
  ['values?limit=1e2', /^limit must be/],
  ['values?device=a&device=b', /^device must be a text/],
  [`values?q=${'x'.repeat(257)}`, /^q must be a text of at most 256/],
  ['values?topic=a%23', /^filter must be a topic filter/],
  ['values?since=-1', /^since must be a time/],
  ['values?after=x', /^after must be next/],
  ['values?after=WzEsMl0', /^after must be next/],
  ['topics?prefix[]=a', /^prefix must be a text/],
  ['values/stream?topic=a/%23/b', /^filter must be a topic filter/]
])('refuses %s with a sentence', async (path, sentence) => {
  const { get, faults } = await serve();
  const { status, body } = await get(path);
  expect([status, body.error]).toEqual([400, expect.stringMatching(sentence)]);
  expect(faults).toEqual([]);
});

test('needs the permission, an engine that runs, and one that keeps values', async () => {
  const off = { engine: startEngine({ valuesMiB: 0 }), keepsValues: false };
  const { get } = await serve([
    { id: 'off', host: off, reason: '' },
    { id: 'stopped', host: /** @type {any} */ (null), reason: 'wrong setting' }
  ]);
  for (const path of ['values', 'topics', 'values/stream']) {
    expect((await get(path, { authorization: 'none' })).status).toBe(401);
    expect(await get(path)).toMatchObject({
      status: 404,
      body: { error: expect.stringMatching(/keeps no last/) }
    });
    const stopped = await get(`${path}?engine=stopped`);
    expect(stopped).toMatchObject({
      status: 503,
      body: { error: 'The engine is not running: wrong setting.' }
    });
    expect((await get(`${path}?engine=none`)).status).toBe(404);
  }
});

describe('the stream', () => {
  /** @param {Awaited<ReturnType<typeof viewLive>>} viewer */
  const taken = (viewer) => viewer.events.filter(({ event }) => event === 'values').map(({ data }) => data);

  test('sends what changes, once, and asks nobody without a listener', async () => {
    const { engine, engines, follow } = await serve();
    let reads = 0;
    const values = engine.values.bind(engine);
    engines[0].host.engine = /** @type {any} */ ({ values: (query) => (reads++, values(query)) });
    const viewer = await follow('?topic=plant/%23');
    push(engine, 'a', 'plant/t', '1');
    push(engine, 'a', 'other', '1');
    await until(() => taken(viewer).length === 1, 'the first values');
    const slash = await follow('?topic=/%23');
    push(engine, 'b', 'plant/t', '2');
    push(engine, 'b', '//x');
    await until(() => taken(viewer).length === 2, 'the second values');
    await until(() => taken(slash).length === 1, 'the value below /');
    expect(taken(slash).map(names)).toEqual(['b://x']);
    slash.close();
    expect(taken(viewer).map(names)).toEqual(['a:plant/t', 'b:plant/t']);
    viewer.close();
    // The server notices the end a little later.
    await until(async () => {
      const before = reads;
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return reads === before;
    }, 'no more reads');
  });

  test('sends at most a hundred rows, and says that there are more', async () => {
    const { engine, follow } = await serve();
    for (let i = 0; i < 150; i++) push(engine, `d${i}`, 't');
    await keeps(engine, 150);
    const viewer = await follow('?since=0&limit=1000');
    await until(() => taken(viewer).length === 1, 'the values');
    expect(taken(viewer)[0].values).toHaveLength(MAX_ROWS);
    expect(taken(viewer)[0].more).toBe(true);
  });

  test('goes on with the engine that is deployed in its place', async () => {
    const { engine, engines, follow } = await serve();
    push(engine, 'a', 't');
    const viewer = await follow();
    await until(() => taken(viewer).length === 1, 'the values');
    engines[0].host = /** @type {any} */ (null);
    engine.close();
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const next = startEngine();
    engines[0].host = { engine: next, keepsValues: true };
    push(next, 'b', 't');
    await until(() => taken(viewer).length === 2, 'the values of the next engine');
    expect(names(taken(viewer)[1])).toBe('b:t');
  });

  test('has a limited number of listeners', async () => {
    const { url, follow } = await serve();
    for (let i = 0; i < MAX_LISTENERS; i++) await follow();
    const refused = await fetch(`${url}values/stream`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    expect((await refused.json()).error).toMatch(/Too many listeners/);
  });
});
