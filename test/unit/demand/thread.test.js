'use strict';
// The thread that writes questions: it starts when it is needed, and its unexpected end loses nothing that is on disk.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { DemandFile } = require('../../../nodes/lib/demand/demand-file');
const { DemandStore } = require('../../../nodes/lib/demand/demand-store');
const { DemandThread } = require('../../../nodes/lib/demand/demand-thread');

/** @type {string} */
let folder;
/** @type {DemandThread} */
let thread;
/** @type {DemandStore} */
let store;
/** @type {string[]} */
let warnings;

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-demand-thread-'));
  warnings = [];
  start();
});
afterEach(async () => {
  await store.close();
  fs.rmSync(folder, { recursive: true });
});

function start() {
  thread = new DemandThread(folder, (sentence) => warnings.push(sentence));
  store = new DemandStore(thread);
}
const restore = (device) => ({
  device,
  topic: `cmd/${device}/rate`,
  payload: Buffer.from('{"everyMs":0}'),
  since: 5
});
const put = (device, by = 'ann') =>
  store.put({ device, by, everyMs: 100, forMs: 1000, endsAt: 2000 }, restore(device));

test('starts with the first change, and keeps what was answered', async () => {
  expect(store.load()).toEqual({ questions: [], restores: [] });
  expect([thread.thread, fs.readdirSync(folder)]).toEqual([null, []]);
  await put('a');
  await put('b');
  store.remove('a', 'ann');
  store.restored('b');
  await store.close();
  start();
  expect(store.load()).toEqual({
    questions: [{ device: 'b', by: 'ann', everyMs: 100, forMs: 1000, endsAt: 2000 }],
    restores: [restore('a')]
  });
});

test('rejects a question while another process has the file, and goes on afterwards', async () => {
  await put('a');
  await store.close();
  const other = new DemandFile(folder);
  other.write([{ name: 'removeQuestion', values: ['a', 'ann'] }]);
  start();
  await expect(put('b')).rejects.toThrow(/locked/);
  expect(warnings).toEqual([expect.stringMatching(/demand\.db cannot be written \(.*locked.*\)\.$/)]);
  other.close();
  await put('b');
  await store.close();
  start();
  expect(store.load().questions.map(({ device }) => device)).toEqual(['b']);
});

test('rejects what is not known to be on disk when the thread ends unexpectedly, and goes on', async () => {
  await put('a');
  // Enough for a commit that takes longer than the end of the thread.
  const many = Array.from({ length: 50000 }, (_, i) => ({
    name: /** @type {const} */ ('removeQuestion'),
    values: [`d${i}`, 'ann']
  }));
  const written = new Promise((resolve) => thread.write(many, resolve));
  void thread.thread?.terminate();
  expect((await written).message).toMatch(/^the thread of the questions ended unexpectedly/);
  expect(warnings).toEqual([expect.stringMatching(/^The thread of the questions .* restarts in \d+ ms\.$/)]);
  await expect(put('c')).rejects.toThrow(/ended unexpectedly/);
  await eventually(() => thread.thread?.isRunning, { what: 'the next thread' });
  await put('c');
  await store.close();
  start();
  expect(store.load().questions.map(({ device }) => device)).toEqual(expect.arrayContaining(['a', 'c']));
});

test('writes all into a new file when the file was damaged while it was in use', async () => {
  // More than SQLite keeps in memory.
  const devices = Array.from({ length: 20000 }, (_, i) => `${i}-`.padEnd(200, 'd'));
  await Promise.all(devices.map((device) => put(device)));
  store.contents = () => ({
    questions: devices.map((device) => ({ device, by: 'ann', everyMs: 100, forMs: 900, endsAt: 2000 })),
    restores: devices.map(restore)
  });
  for (const name of ['demand.db', 'demand.db-wal']) {
    const fd = fs.openSync(path.join(folder, name), 'r+');
    for (let at = 4096; at < fs.fstatSync(fd).size; at += 4096)
      fs.writeSync(fd, Buffer.alloc(4096, 0xff), 0, 4096, at);
    fs.closeSync(fd);
  }
  const ends = await Promise.allSettled(devices.slice(0, 5000).map((device) => put(device)));
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(warnings).toEqual([expect.stringMatching(/renamed to demand\.db\.damaged-/)]);
  await put('last');
  await store.close();
  start();
  const { questions, restores } = store.load();
  expect([questions.length, restores.length]).toEqual([20001, 20001]);
});

test('reports a file that cannot be read, and puts it aside', () => {
  fs.writeFileSync(path.join(folder, 'demand.db'), 'SQLite format 3\0 but not really'.padEnd(4096));
  expect(store.load()).toEqual({ questions: [], restores: [] });
  expect(warnings).toEqual([expect.stringMatching(/cannot be read .*was renamed to demand\.db\.damaged-/)]);
});
