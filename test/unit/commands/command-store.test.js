'use strict';

// Commands on disk: a command reported as kept survives kill -9; a damaged, foreign or busy file does no harm.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { CommandStore } = require('../../../nodes/lib/commands/command-store');
const { FailingCalls } = require('../../fixtures/store/failing-calls');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

let folder;
let stores;
let logged;
beforeEach(() => {
  folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-commands-')), 'log');
  stores = [];
  logged = [];
});
afterEach(() => {
  for (const store of stores) store.close();
  fs.rmSync(path.dirname(folder), { recursive: true, force: true });
});

function open() {
  const store = new CommandStore(folder, (sentence) => logged.push(sentence));
  stores.push(store);
  return store;
}

const file = () => path.join(folder, 'commands.db');
const command = (id, more = {}) => ({
  id,
  device: 'pump-7',
  topic: 'cmd/pump-7/x',
  payload: Buffer.from([0, 255, 10]),
  qos: 1,
  expiresAt: 1e12,
  origin: null,
  ...more
});
const add = (store, each) =>
  new Promise((resolve, reject) => store.add(each, (error, row) => (error ? reject(error) : resolve(row))));

test('restores kept commands unchanged and in order, and no removed ones', async () => {
  const origin = { broker: 'b', rest: 'x', responseTopic: 'a/b', correlation: Buffer.from([0, 1, 255]) };
  const first = open();
  const rows = await Promise.all([command('1'), command('2'), command('3', { origin, payload: Buffer.alloc(0) })].map((each) => add(first, each))); // prettier-ignore
  expect(rows).toEqual([1, 2, 3]);
  first.remove(2);
  first.close();
  expect(open().load()).toEqual([
    { row: 1, command: command('1') },
    { row: 3, command: command('3', { origin, payload: Buffer.alloc(0) }) }
  ]);
});

test('copies the kept commands while it is in use, also those that are not on disk yet', async () => {
  const store = open();
  const to = fs.mkdtempSync(path.join(path.dirname(folder), 'copy-'));
  expect(await store.backup(path.join(to, 'commands.db'))).toBe(false);
  expect(fs.readdirSync(to)).toEqual([]);
  await add(store, command('1'));
  const pending = add(store, command('2'));
  expect(await store.backup(path.join(to, 'commands.db'))).toBe(true);
  await pending;
  await add(store, command('3'));
  const copied = new CommandStore(to, (sentence) => logged.push(sentence));
  stores.push(copied);
  expect(copied.load()).toEqual([
    { row: 1, command: command('1') },
    { row: 2, command: command('2') }
  ]);
  expect(logged).toEqual([]);
});

test('continues the numbers of an earlier run in a later one', async () => {
  const first = open();
  for (const id of ['1', '2']) await add(first, command(id));
  first.close();
  const second = open();
  expect(await add(second, command('3'))).toBe(3);
  second.close();
  expect(open().load().map(({ command: { id } }) => id)).toEqual(['1', '2', '3']); // prettier-ignore
});

test('creates no file before the first command is kept, and then for this user alone', async () => {
  const store = open();
  expect(store.load()).toEqual([]);
  store.flush();
  expect(fs.existsSync(folder)).toBe(false);
  await add(store, command('1'));
  expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
  expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
});

test('commits a burst in one transaction', async () => {
  const store = open();
  await add(store, command('0'));
  const commits = jest.spyOn(store.db, 'exec');
  await Promise.all(Array.from({ length: 1000 }, (_, i) => add(store, command(String(i)))));
  expect(commits.mock.calls.flat()).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
});

test.each([
  ['at its beginning', (bytes) => bytes.fill(0x55, 0, 100)],
  ['by being cut', (bytes) => bytes.subarray(0, 5000)],
  ['text', () => Buffer.from('not a database, but a text that is long enough to be read as one'.repeat(100))]
])('moves a damaged file (%s) aside and begins a new one', async (_name, damage) => {
  const first = open();
  await add(first, command('1'));
  first.close();
  fs.writeFileSync(file(), damage(fs.readFileSync(file())));
  const second = open();
  expect(second.load()).toEqual([]);
  expect(logged).toEqual([
    expect.stringMatching(/renamed to commands\.db\.damaged-.*, and a new one is created/)
  ]);
  expect(fs.readdirSync(folder).some((name) => name.startsWith('commands.db.damaged-'))).toBe(true);
  expect(await add(second, command('2'))).toBe(1);
});

test.each([
  ['another program', 'CREATE TABLE x (a); PRAGMA application_id = 7', /another program/],
  ['a newer version', 'CREATE TABLE x (a); PRAGMA application_id = 0x53474331; PRAGMA user_version = 2', /newer version/] // prettier-ignore
])('leaves a file of %s alone', async (_name, sql, reason) => {
  fs.mkdirSync(folder);
  const db = new DatabaseSync(file());
  db.exec(sql);
  db.close();
  const before = fs.readFileSync(file());
  const store = open();
  expect(store.load()).toEqual([]);
  expect(logged[0]).toMatch(reason);
  await expect(add(store, command('1'))).rejects.toThrow(reason);
  expect(fs.readFileSync(file()).equals(before)).toBe(true);
});

test('keeps nothing and reports it while another gateway uses the file', async () => {
  const first = open();
  await add(first, command('1'));
  const second = open();
  expect(second.load()).toEqual([]);
  await expect(add(second, command('2'))).rejects.toThrow(/locked/);
  first.close();
  // It works without a restart once the other gateway has ended.
  await expect(add(second, command('2'))).resolves.toBe(2);
});

test('keeps nothing and reports it when the folder cannot be made', async () => {
  fs.writeFileSync(folder, 'a file');
  const store = open();
  await expect(add(store, command('1'))).rejects.toThrow(/ENOTDIR|EEXIST/);
  expect(logged[0]).toMatch(/cannot be opened/);
});

test('keeps commands that were reported as kept after kill -9', async () => {
  const script = `
    const { CommandStore } = require(${JSON.stringify(require.resolve('../../../nodes/lib/commands/command-store'))});
    const store = new CommandStore(${JSON.stringify(folder)}, console.error);
    let n = 0;
    const next = () => {
      const number = ++n;
      store.add({ id: String(number), device: 'd' + number % 7, topic: 'cmd', payload: Buffer.alloc(200), qos: 1, expiresAt: 1, origin: null }, (error, row) => {
        if (!error) require('node:fs').writeSync(1, number + '\\n');
        if (row % 3 === 0) store.remove(row);
        next();
      });
    };
    for (let i = 0; i < 5; i++) next();`;
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (bytes) => {
      output += bytes;
      if (output.length > 2000 + 500 * round) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const reported = output.split('\n').slice(0, -1).map(Number);
    const store = open();
    const kept = new Set(store.load().map(({ command: { id } }) => Number(id)));
    const rows = store.lastRow;
    store.close();
    expect(reported.length).toBeGreaterThan(300);
    // The third of each was removed; its row may be deleted or still there.
    for (const number of reported)
      expect([number, kept.has(number) || number % 3 === 0]).toEqual([number, true]);
    expect(rows).toBeGreaterThanOrEqual(Math.max(...reported) - 3);
    fs.rmSync(folder, { recursive: true });
  }
});

test('reads a file that was busy at the start once it is free, each command once', async () => {
  const first = open();
  await add(first, command('1'));
  const second = open();
  expect(second.load()).toEqual([]);
  expect(logged).toHaveLength(1);
  expect(second.load()).toEqual([]);
  first.close();
  await add(second, command('2'));
  expect(second.load()).toEqual([{ row: 1, command: command('1') }]);
  expect(second.load()).toEqual([]);
  expect(logged).toHaveLength(1);
});

test('reports a damaged file in a read-only folder once, and continues', async () => {
  const first = open();
  await add(first, command('1'));
  first.close();
  fs.writeFileSync(file(), 'damaged');
  const rename = jest.spyOn(fs, 'renameSync').mockImplementation(() => {
    throw Object.assign(new Error('EROFS: read-only file system, rename'), { code: 'EROFS' });
  });
  try {
    const store = open();
    expect(store.load()).toEqual([]);
    await expect(add(store, command('2'))).rejects.toThrow();
    expect(store.load()).toEqual([]);
    store.close();
    expect(logged).toEqual([
      expect.stringMatching(/commands\.db cannot be .* refused until this works again/)
    ]);
  } finally {
    rename.mockRestore();
  }
});

test('a command whose commit failed is not there later, although it may have been written', async () => {
  const store = open();
  await add(store, command('1'));
  const refused = [];
  for (let k = 1, fails = true; fails; k++) {
    const calls = new FailingCalls({ first: k, count: 1, kind: 'io', isLate: true });
    const id = `try-${k}`;
    await add(store, command(id)).catch(() => refused.push(id));
    calls.end();
    fails = calls.failed > 0;
  }
  expect(refused.length).toBeGreaterThan(3);
  await add(store, command('2'));
  store.close();
  const found = open()
    .load()
    .map(({ command: { id } }) => id);
  expect(found.filter((id) => refused.includes(id))).toEqual([]);
  expect(found).toEqual(expect.arrayContaining(['1', '2']));
});
