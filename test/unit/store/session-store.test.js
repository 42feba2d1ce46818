'use strict';

// Sessions of MQTT devices on disk: what is committed is there after a crash, a damaged row or file does no harm, and
// nothing is restored when it is too late.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { SessionFile } = require('../../../nodes/lib/store/session-file');
const { SessionStore } = require('../../../nodes/lib/store/session-store');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

const DAMAGED = 2;
const EXPIRED = 1;
const TOO_LATE = 3;

/** @type {string} */
let folder;
/** @type {SessionStore[]} */
let stores;
/** @type {string[]} */
let problems;
beforeEach(() => {
  folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-sessions-')), 'log');
  stores = [];
  problems = [];
});
afterEach(async () => {
  for (const store of stores) await store.stop(0);
  fs.rmSync(path.dirname(folder), { recursive: true, force: true });
});

/** Stands for the engine. Rows are texts; `results` names those that it does not take. */
class Engine {
  constructor({ results = {}, state = 0 } = {}) {
    this.results = results;
    this.state = state;
    this.rows = [];
    this.writes = [];
    this.commits = 0;
    this.isExact = undefined;
    this.isFinal = false;
    this.isDisabled = false;
  }
  restoring() {
    return this.state;
  }
  restore(rows, isExact) {
    this.isExact = isExact;
    return rows.map((row) => {
      const text = Buffer.from(row).toString();
      if (!this.results[text]) this.rows.push(text);
      return this.results[text] ?? 0;
    });
  }
  restored() {
    this.state = 1;
  }
  take() {
    return this.writes;
  }
  committed() {
    this.commits++;
    this.writes = [];
  }
  waiting() {
    return this.isFinal ? this.writes.length : -1;
  }
  disable() {
    this.isDisabled = true;
  }
  close() {}
}

/** @param {Engine} engine @returns {Promise<SessionStore & { sessions: number }>} when the sessions are restored */
async function open(engine = new Engine()) {
  const restored = Promise.withResolvers();
  const store = new SessionStore({
    directory: folder,
    problem: (code) => problems.push(code),
    restored: restored.resolve
  });
  stores.push(store);
  store.attach(/** @type {any} */ (engine));
  return Object.assign(store, { sessions: await restored.promise });
}

const put = (device, row = device) => ({ device, row: Buffer.from(row) });

/** Has the store write, and waits for the commit. */
async function write(store, engine, ...writes) {
  const commits = engine.commits;
  engine.writes = writes;
  store.ring();
  while (engine.commits === commits) await new Promise((resolve) => setImmediate(resolve));
}

/** @returns {string[]} devices with a row */
function stored() {
  const db = new DatabaseSync(path.join(folder, 'sessions.db'));
  try {
    return db.prepare('SELECT device FROM session ORDER BY device').all().map(({ device }) => String(device)); // prettier-ignore
  } finally {
    db.close();
  }
}

test('restores what an earlier run committed, and not what it deleted', async () => {
  const first = new Engine();
  const store = await open(first);
  await write(store, first, put('a'), put('b'), put('c', 'old'));
  await write(store, first, put('c', 'new'), { device: 'b', row: null });
  await store.stop(0);
  const second = new Engine();
  expect((await open(second)).sessions).toBe(2);
  expect(second.rows).toEqual(['a', 'new']);
});

test('knows whether the last run ended in order, and forgets it at once', async () => {
  const first = new Engine();
  const store = await open(first);
  await write(store, first, put('a'));
  first.isFinal = true;
  first.writes = [put('b')];
  await store.stop(1000);
  expect(first.commits).toBe(2);
  const second = new Engine();
  const crashed = await open(second);
  expect(second).toMatchObject({ isExact: true, rows: ['a', 'b'] });
  await crashed.stop(0); // without the engine's last changes
  const third = new Engine();
  await open(third);
  expect(third.isExact).toBe(false);
});

test('deletes expired rows, and keeps damaged ones apart', async () => {
  const first = new Engine();
  const store = await open(first);
  await write(store, first, put('good'), put('old'), put('broken'), put('odd'));
  await store.stop(0);
  const db = new DatabaseSync(path.join(folder, 'sessions.db'));
  db.exec("UPDATE session SET row = 'a text' WHERE device = 'odd'");
  db.close();
  const second = new Engine({ results: { old: EXPIRED, broken: DAMAGED, '': DAMAGED } });
  const again = await open(second);
  expect(second.rows).toEqual(['good']);
  expect(problems).toEqual(['SESSION_DAMAGED']);
  await again.stop(0);
  expect(stored()).toEqual(['good']);
  const aside = new DatabaseSync(path.join(folder, 'sessions.db'));
  expect(aside.prepare('SELECT device FROM damaged ORDER BY device').all()).toEqual([{ device: 'broken' }, { device: 'odd' }]); // prettier-ignore
  aside.close();
});

test('restores pages of many sessions, each once', async () => {
  const first = new Engine();
  const store = await open(first);
  const names = Array.from({ length: 1000 }, (_, i) => `d${String(i).padStart(4, '0')}`);
  await write(store, first, ...names.map((name) => put(name)));
  await store.stop(0);
  const second = new Engine();
  await open(second);
  expect(second.rows).toEqual(names);
});

test('deletes all sessions when devices connected before they could be restored', async () => {
  const first = new Engine();
  const store = await open(first);
  await write(store, first, put('a'));
  await store.stop(0);
  const late = new Engine({ state: 2 });
  const again = await open(late);
  expect(late.rows).toEqual([]);
  await again.stop(0);
  expect(stored()).toEqual([]);
  expect(TOO_LATE).toBe(3);
});

test('keeps the rows when only its thread is new', async () => {
  const engine = new Engine();
  const store = await open(engine);
  await write(store, engine, put('a'));
  await store.stop(0);
  const next = await open(engine);
  await next.stop(0);
  expect(engine.rows).toEqual([]);
  expect(stored()).toEqual(['a']);
});

test('tries again what it could not write, and reports it as committed only then', async () => {
  const engine = new Engine();
  const store = await open(engine);
  await write(store, engine, put('a'));
  jest.spyOn(SessionFile.prototype, 'write').mockImplementationOnce(() => {
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
  });
  engine.writes = [put('b')];
  store.ring();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(engine.commits).toBe(1);
  expect(problems).toEqual(['SESSIONS']);
  store.ring();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(engine.commits).toBe(1); // until the next second
  store.tick();
  while (engine.commits === 1) await new Promise((resolve) => setImmediate(resolve));
  await store.stop(0);
  expect(stored()).toEqual(['a', 'b']);
  jest.restoreAllMocks();
});

test.each([
  ['no database', (file) => fs.writeFileSync(file, 'x'.repeat(5000))],
  [
    'a damaged page',
    (file) => {
      const bytes = fs.readFileSync(file);
      bytes.fill(0xff, 4096 + 8, 4096 + 600);
      fs.writeFileSync(file, bytes);
    }
  ],
  [
    'of a later version',
    (file) => {
      const db = new DatabaseSync(file);
      db.exec('PRAGMA user_version = 99');
      db.close();
    }
  ]
])('sets a file aside that is %s, and begins a new one', async (_what, harm) => {
  const first = new Engine();
  const store = await open(first);
  await write(store, first, ...Array.from({ length: 50 }, (_, i) => put(`d${i}`, 'x'.repeat(200))));
  await store.stop(0);
  harm(path.join(folder, 'sessions.db'));
  const second = new Engine();
  const opening = open(second);
  while (problems.length === 0) await new Promise((resolve) => setImmediate(resolve));
  stores.at(-1)?.tick();
  const again = await opening;
  expect(problems).toEqual(['SESSIONS_DAMAGED']);
  expect(fs.readdirSync(folder).some((name) => name.startsWith('sessions.db.damaged-'))).toBe(true);
  await write(again, second, put('a'));
  await again.stop(0);
  expect(stored()).toEqual(['a']);
});

test("does not touch another program's database, and lets devices continue without it", async () => {
  fs.mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(path.join(folder, 'sessions.db'));
  db.exec('PRAGMA application_id = 7; CREATE TABLE theirs (x)');
  db.close();
  const before = fs.readFileSync(path.join(folder, 'sessions.db'));
  const engine = new Engine();
  const store = await open(engine);
  expect(engine.isDisabled).toBe(true);
  expect(problems).toEqual(['SESSIONS_REFUSED']);
  await store.stop(0);
  expect(fs.readFileSync(path.join(folder, 'sessions.db'))).toEqual(before);
});

test('has what it reported as committed after kill -9', async () => {
  const script = `
    const { SessionFile } = require(${JSON.stringify(require.resolve('../../../nodes/lib/store/session-file'))});
    const file = new SessionFile(${JSON.stringify(folder)});
    file.begin();
    for (let i = 0; ; i++) {
      file.write([{ device: 'd' + i, row: Buffer.from('x') }]);
      require('node:fs').writeSync(1, i + '\\n');
    }`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  for await (const chunk of child.stdout) {
    out += chunk;
    if (out.split('\n').length > 20) break;
  }
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const last = Number(out.trim().split('\n').at(-1));
  const rows = new Set(stored());
  for (let i = 0; i <= last; i++) expect(rows.has(`d${i}`)).toBe(true);
});
