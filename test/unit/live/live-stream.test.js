'use strict';
// The stream over real HTTP: no work without viewers, bounded viewers, and nothing queued for a slow one.

const http = require('node:http');
const { viewLive } = require('../../fixtures/gateway/live-viewer');
const { LiveStream, MAX_VIEWERS } = require('../../../nodes/lib/live/live-stream');
const { Viewer, MAX_AGE_MS, MAX_BLOCKED_MS } = require('../../../nodes/lib/live/viewer');
const { parseLiveQuery } = require('../../../nodes/lib/live/live-query');
const { until } = require('../../runtime/process');

const zeros = [0, 0, 0, 0, 0, 0, 0, 0, 0];

/** An engine's host; `reads` counts its snapshots, `scans` its device lists. */
function makeHost({ padding = '', sources = [], members = [] } = {}) {
  const host = {
    reads: 0,
    scans: 0,
    gatewayId: 'gw',
    closing: null,
    upkeep: {
      rates: { seconds: 1, stages: new Map(), counters: { recordsReceived: 7 } },
      watched() {},
      history: { written: 0, view: () => ({ stepS: 60, endsAt: 0, series: {} }) }
    },
    registry: {
      page() {
        host.scans++;
        return { agents: [], next: null };
      }
    },
    members,
    nodes: () => [],
    waitsFor: () => '',
    snapshot() {
      host.reads++;
      return {
        devices: host.reads,
        heldBytes: 0,
        budgetBytes: 1,
        slowedFrom: 0,
        heldRecords: zeros,
        storedRecords: zeros,
        backlogRecords: zeros,
        deliveredRecords: zeros,
        counters: {},
        drops: {},
        latency: [],
        workers: [],
        uplinks: [],
        sources,
        log: padding ? { reason: padding } : null,
        commands: {}
      };
    }
  };
  return host;
}

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Serves a stream of these engines, a tick every 20 ms. */
async function serve(engines, clock = {}) {
  const stream = new LiveStream(() => engines, { intervalMs: 20, ...clock });
  /** @type {http.ServerResponse[]} */
  const responses = [];
  const server = http.createServer((request, response) => {
    responses.push(response);
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    stream.add(response, parseLiveQuery(Object.fromEntries(searchParams)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  cleanups.push(
    () => server.closeAllConnections(),
    () => server.close()
  );
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { stream, responses, url: `http://127.0.0.1:${port}/` };
}

/** @param {string} url */
async function follow(url) {
  const viewer = await viewLive(url);
  cleanups.push(() => viewer.close());
  return viewer;
}

const engineOf = (host, id = 'e1') => ({
  id,
  name: id,
  host,
  reason: '',
  health: () => ({ ok: true, reason: '' })
});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('reads nothing without a viewer, neither before the first nor after the last one', async () => {
  const host = makeHost();
  const { stream, url } = await serve([engineOf(host)]);
  await pause(100);
  expect([host.reads, host.scans]).toEqual([0, 0]);
  const viewer = await follow(url);
  await until(() => viewer.snapshots.length >= 3);
  viewer.close();
  await until(() => stream.size === 0);
  const { reads, scans } = host;
  expect(reads).toBeGreaterThanOrEqual(3);
  await pause(100);
  expect([host.reads, host.scans]).toEqual([reads, scans]);
});

test('sends the first snapshot at once, and reads an engine once for all its viewers', async () => {
  const host = makeHost();
  const { url } = await serve([engineOf(host)], { intervalMs: 3600000 });
  const viewers = await Promise.all([follow(url), follow(url), follow(url)]);
  await until(() => viewers.every((viewer) => viewer.snapshots.length === 1));
  expect(host.reads).toBe(1);
  expect(viewers[0].snapshots[0]).toMatchObject({
    engine: 'e1',
    engines: [{ id: 'e1', running: true }],
    summary: { devices: 1, receivedPerS: 7 },
    devicePage: { known: 0, rows: [] }
  });
});

test('reads only the selected engine, and its devices only if the viewer wants them', async () => {
  const [one, two] = [makeHost(), makeHost()];
  const { url } = await serve([engineOf(one), engineOf(two, 'e2')]);
  const viewer = await follow(`${url}?engine=e2&devices=off`);
  await until(() => viewer.snapshots.length >= 3);
  expect([one.reads, two.scans]).toEqual([0, 0]);
  expect(viewer.snapshots[0]).toMatchObject({ engine: 'e2', devicePage: null });
});

test('continues while engines stop, start and disappear', async () => {
  const host = makeHost();
  const engines = [{ id: 'e1', name: 'one', host: null, reason: 'wrong setting' }];
  const { url } = await serve(engines);
  const viewer = await follow(url);
  await until(() => viewer.snapshots.length >= 1);
  expect(viewer.snapshots[0]).toMatchObject({
    engine: 'e1',
    engines: [{ running: false, reason: 'wrong setting' }]
  });
  expect(viewer.snapshots[0].summary).toBeUndefined();
  engines[0] = /** @type {any} */ (engineOf(host));
  await until(() => viewer.snapshots.at(-1).summary);
  engines.length = 0;
  await until(() => viewer.snapshots.at(-1).engine === null);
});

test('ends the connection of a viewer whose snapshot failed, and serves the others', async () => {
  const host = makeHost();
  const broken = {
    ...makeHost(),
    nodes: () => {
      throw new Error('broken');
    }
  };
  /** @type {string[]} */
  const faults = [];
  const onFault = (/** @type {Error} */ { message }) => faults.push(message);
  const { url } = await serve([engineOf(host), engineOf(/** @type {any} */ (broken), 'e2')], { onFault });
  const viewer = await follow(url);
  const failed = await follow(`${url}?engine=e2`);
  await until(() => failed.ended);
  const { length } = viewer.snapshots;
  await until(() => viewer.snapshots.length > length + 2);
  expect(faults).toEqual(['broken']);
});

test('sends the history once, and again when it has a new point', async () => {
  const host = makeHost();
  const { url } = await serve([engineOf(host)]);
  const viewer = await follow(url);
  const histories = () => viewer.events.filter(({ event }) => event === 'history').length;
  await until(() => viewer.snapshots.length >= 5);
  expect(histories()).toBe(1);
  host.upkeep.history.written++;
  await until(() => histories() === 2);
});

test('queues nothing for a viewer that does not read, and sends it the newest snapshot later', async () => {
  const host = makeHost({ padding: 'x'.repeat(2 ** 20) });
  const { responses, url } = await serve([engineOf(host)]);
  const reader = await follow(url);
  const slow = await follow(url);
  slow.response.pause();
  // The system's buffers take some megabytes; then the viewer is blocked.
  await until(() => responses[1].writableNeedDrain, { what: 'a blocked viewer' });
  const before = reader.snapshots.length;
  await until(() => reader.snapshots.length >= before + 30);
  expect(responses[1].writableNeedDrain).toBe(true);
  // Parts of one snapshot, not of thirty.
  expect(responses[1].writableLength).toBeLessThan(1.5 * 2 ** 20);
  const missedUpTo = reader.snapshots.at(-1).summary.devices;
  slow.response.resume();
  await until(() => slow.snapshots.some(({ summary }) => summary.devices > missedUpTo));
  const got = slow.snapshots.map(({ summary }) => summary.devices);
  const gap = Math.max(...got.slice(1).map((value, index) => value - got[index]));
  // Not all 30: the other viewer was some snapshots behind when this one was blocked.
  expect(gap).toBeGreaterThanOrEqual(10);
}, 60000);

test('has room for 16 viewers, and again when one leaves', async () => {
  const { stream, url } = await serve([engineOf(makeHost())]);
  const viewers = [];
  for (let index = 0; index < MAX_VIEWERS; index++) {
    expect(stream.isFull).toBe(false);
    viewers.push(await follow(url));
  }
  expect([MAX_VIEWERS, stream.isFull]).toEqual([16, true]);
  viewers[0].close();
  await until(() => !stream.isFull);
});

test('ends a connection after ten minutes, so that a login that ended has an effect', async () => {
  let now = 0;
  const { stream, url } = await serve([engineOf(makeHost())], { now: () => now });
  const viewer = await follow(url);
  await until(() => viewer.snapshots.length >= 2);
  now = MAX_AGE_MS + 1;
  await until(() => viewer.ended && stream.size === 0);
});

test('gives up on a viewer that has taken nothing for 30 s', () => {
  const response = /** @type {any} */ ({
    writeHead() {},
    flushHeaders() {},
    on() {},
    writableNeedDrain: false
  });
  let now = 0;
  const viewer = new Viewer(response, parseLiveQuery({}), { now: () => now });
  const stateAt = (/** @type {number} */ at) => {
    now = at;
    return [viewer.isReady, viewer.isOver()];
  };
  expect(stateAt(1000)).toEqual([true, false]);
  response.writableNeedDrain = true;
  expect(stateAt(2000)).toEqual([false, false]);
  expect(stateAt(2000 + MAX_BLOCKED_MS)).toEqual([false, false]);
  expect(stateAt(2001 + MAX_BLOCKED_MS)).toEqual([false, true]);
  response.writableNeedDrain = false;
  expect(stateAt(40000)).toEqual([true, false]);
});
