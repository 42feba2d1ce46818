'use strict';
// The thread of the shadows: few commits for many updates, its end, and its unexpected end.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { lockFile } = require('../../../nodes/lib/store/lock-file');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { eventually } = require('../../../bench/harness/net');
const { seeded } = require('../../fixtures/random');
const { ShadowThread } = require('../../../nodes/lib/shadow/shadow-thread');

/** @type {string} */
let folder;
/** @type {ShadowThread} */
let thread;
const states = [];
/** @type {string[]} */
const warnings = [];
let reopened = 0;

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-thread-'));
  thread = start();
});
afterEach(async () => {
  await thread.stop();
  fs.rmSync(folder, { recursive: true });
});

const start = () =>
  new ShadowThread(
    folder,
    (state) => states.push(state),
    (sentence) => warnings.push(sentence),
    () => reopened++
  );
const op = (kind, device, text = '') => ({
  kind,
  device,
  text,
  dialect: /** @type {const} */ ('own'),
  deviceDialect: /** @type {const} */ ('own'),
  section: null,
  limits: { maxBytes: 8192, maxDepth: 8, maxShadows: 100000 },
  wantsChange: false
});
const set = (device, n) => thread.ask(op('update', device, `{"desired":{"n":${n}}}`));

test('stores updates that arrive together in few commits, in their order', async () => {
  const results = await Promise.all(Array.from({ length: 3000 }, (_, i) => set(`d${i % 10}`, i)));
  expect(results.every(({ status }) => status === 200)).toBe(true);
  expect(results[2999].version).toBe(300);
  expect((await thread.ask(op('get', 'd9'))).body).toContain('"desired":{"n":2999}');
  await eventually(() => thread.state.counters.updates === 3000, { what: 'the counters' });
  expect(thread.state.counters.commits).toBeLessThan(20);
  expect(thread.state).toMatchObject({ shadows: 10, reason: '' });
});

test('stores what waits when it is stopped, and then takes nothing', async () => {
  const asked = [set('a', 1), set('b', 2)];
  await thread.stop();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  await expect(set('a', 3)).rejects.toMatchObject({ status: 503, message: 'The engine stopped.' });
  thread = start();
  expect((await thread.ask(op('get', 'b'))).body).toContain('"desired":{"n":2}');
});

test('fails what waits when the thread ends unexpectedly, and goes on with what is on disk', async () => {
  await set('a', 1);
  await eventually(() => thread.state.counters.updates === 1, { what: 'the counters' });
  const asked = set('a', 2);
  const listed = thread.list('', 10);
  thread.thread.terminate();
  for (const each of [asked, listed])
    await expect(each).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching(/ended unexpectedly/)
    });
  expect(states.at(-1).reason).toMatch(/restarts in \d+ ms/);
  await expect(set('a', 3)).rejects.toMatchObject({ status: 503 });
  await eventually(() => thread.thread.isRunning && thread.state.reason === '', { what: 'the next thread' });
  expect(reopened).toBe(1);
  expect((await set('a', 4)).version).toBeGreaterThanOrEqual(2);
  await eventually(() => thread.state.counters.updates === 2, { what: 'the counters of both' });
});

test('opens the file again after a failure although nothing is asked', async () => {
  await thread.stop();
  const lock = lockFile(path.join(folder, 'shadow.lock'));
  thread = start();
  await eventually(() => /another process/.test(thread.state.reason), { what: 'the failure' });
  lock?.close();
  await eventually(() => thread.state.reason === '', { what: 'the file is open' });
});

test('answers no change as stored while its file is moved away', async () => {
  await set('a', 1);
  fs.renameSync(path.join(folder, 'shadow.db'), path.join(folder, 'aside'));
  expect(await set('b', 2)).toMatchObject({
    status: 503,
    message: expect.stringMatching(/moved or deleted/)
  });
  await eventually(async () => (await set('c', 3).catch(() => null))?.status === 200, { what: 'a new file' });
  await thread.stop();
  thread = start();
  expect((await thread.ask(op('get', 'c'))).body).toContain('"desired":{"n":3}');
});

test('reads while a change waits for the disk, and does not show it', async () => {
  await set('a', 1);
  const other = new DatabaseSync(path.join(folder, 'shadow.db'));
  other.exec('BEGIN IMMEDIATE');
  let isStored = false;
  const asked = set('a', 2).finally(() => (isStored = true));
  const read = await eventually(
    async () => {
      const { body } = await thread.ask(op('get', 'a'));
      return body;
    },
    { what: 'a read' }
  );
  expect(read).toContain('"desired":{"n":1}');
  const delta = await thread.ask(op('delta', 'a'));
  expect(delta).toMatchObject({ version: 1, delta: expect.stringContaining('"n":1') });
  expect(isStored).toBe(false);
  other.exec('COMMIT');
  other.close();
  expect(await asked).toMatchObject({ status: 200, version: 2 });
  expect((await thread.ask(op('get', 'a'))).body).toContain('"desired":{"n":2}');
});

test('never answers a read with less than before, and says if a change was answered with less', async () => {
  const random = seeded(7);
  const answered = new Map();
  const newest = (device) => answered.get(device) ?? 0;
  let reads = 0;
  const work = async () => {
    for (let i = 0; i < 40; i++) {
      const device = `d${Math.floor(random.next() * 3)}`;
      if (random.next() < 0.2) {
        const { version, isOvertaken = false } = await set(device, Math.floor(random.next() * 1e9));
        expect({ device, isOvertaken }).toEqual({ device, isOvertaken: version <= newest(device) });
        answered.set(device, Math.max(newest(device), version));
      } else {
        const { version } = await thread.ask(op('delta', device));
        reads++;
        expect(version).toBeGreaterThanOrEqual(newest(device));
        answered.set(device, version);
      }
    }
  };
  await Promise.all(Array.from({ length: 60 }, work));
  expect(reads).toBeGreaterThan(1500);
});

test('reads by the thread that writes while the one that reads is gone', async () => {
  await set('a', 1);
  thread.reader.terminate();
  const asked = Array.from({ length: 50 }, () => thread.ask(op('get', 'a')));
  for (const { body } of await Promise.all(asked)) expect(body).toContain('"desired":{"n":1}');
  await eventually(() => warnings.length > 0 && thread.reader.isRunning, { what: 'the next reader' });
  expect(warnings[0]).toMatch(/thread that reads shadows ended unexpectedly/);
  expect((await thread.ask(op('get', 'a'))).status).toBe(200);
  await eventually(() => thread.state.counters.gets === 51, { what: 'the counters of all' });
});

test('refuses what would wait beyond its limits', async () => {
  /** @type {string[]} */
  const refusals = [];
  const ask = (/** @type {string} */ text) =>
    thread.ask(op('get', 'a', text)).catch(({ status, message }) => refusals.push(`${status} ${message}`));
  await Promise.all(Array.from({ length: 20010 }, () => ask('')));
  expect(refusals).toHaveLength(10);
  await Promise.all(['x'.repeat(40 << 20), 'x'.repeat(40 << 20)].map(ask));
  expect(new Set(refusals)).toEqual(
    new Set(['503 Too many requests wait for the disk of the shadows. Ask again.'])
  );
  expect(refusals).toHaveLength(11);
  expect((await set('a', 1)).status).toBe(200);
});
