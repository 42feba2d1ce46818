'use strict';
// The thread of the shadows: few commits for many updates, its end, and its unexpected end.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { ShadowThread } = require('../../../nodes/lib/shadow/shadow-thread');

/** @type {string} */
let folder;
/** @type {ShadowThread} */
let thread;
const states = [];

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-thread-'));
  thread = start();
});
afterEach(async () => {
  await thread.stop();
  fs.rmSync(folder, { recursive: true });
});

const start = () => new ShadowThread(folder, (state) => states.push(state));
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
  expect((await set('a', 4)).version).toBeGreaterThanOrEqual(2);
  await eventually(() => thread.state.counters.updates === 2, { what: 'the counters of both' });
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
