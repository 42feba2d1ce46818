'use strict';

// The store thread and its process: life, death, and a second one. More kills: STORE_KILLS=50 npm test --
// test/system/store/store.test

const fs = require('node:fs');
const path = require('node:path');
const { StoreThread } = require('../../../nodes/lib/store');
const { Child } = require('../../../bench/harness/child');
const { StoreEngine } = require('../../fixtures/store/memory-store-native');
const { Promises } = require('../../fixtures/store/power-cut');
const { seeded } = require('../../fixtures/random');
const { Rig, inspect, temporaryFolder, until } = require('../../fixtures/store/store-files');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { PATIENCE } = require('../../../bench/harness/patience');

const KILLS = Number(process.env.STORE_KILLS ?? 8);
const SEED = Number(process.env.STORE_SEED ?? Date.now() % 100000);
const CHILD = path.join(__dirname, '../../fixtures/store/store-child.js');
const NATIVE = path.join(__dirname, '../../fixtures/store/memory-store-native.js');

jest.setTimeout(30000 + KILLS * 3000);

/** @type {string} */
let directory;
/** @type {(() => unknown)[]} */
const cleanups = [];
beforeEach(() => (directory = temporaryFolder()));
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  fs.rmSync(directory, { recursive: true, force: true });
});

let lastToken = 0;

function startThread(options = {}) {
  const engine = new StoreEngine(++lastToken);
  const thread = new StoreThread({ directory, nativePath: NATIVE, ...options });
  const states = [];
  const problems = [];
  thread.on('state', ({ state, code, reason }) => states.push({ state, code, reason }));
  thread.on('problem', (problem) => problems.push(problem));
  thread.attach(engine.token);
  cleanups.push(async () => {
    await thread.stop(0);
    engine.close();
  });
  return { engine, thread, states, problems };
}

function startChild(env = {}) {
  const child = new Child(process.execPath, [CHILD, directory], {
    name: 'store child',
    env: { ...process.env, LOAD_JOURNAL: path.join(directory, 'journal'), ...env }
  });
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

describe('store thread', () => {
  test('stores, reports its state, stops in order and prints nothing', async () => {
    const child = startChild({ LOAD_CHUNKS: '50' });
    await child.until((output) => output.includes('"ready"'));
    await until(
      () =>
        (fs.existsSync(path.join(directory, 'journal'))
          ? fs.readFileSync(path.join(directory, 'journal'), 'utf8')
          : ''
        ).split('c ').length > 50
    );
    expect((await child.stop()).code).toBe(0);
    expect(child.output).toContain('{"stopped":true}');
    // No warning of an experimental module, nothing else: all lines are its own.
    expect(child.output.split('\n').filter((line) => line && !line.startsWith('{'))).toEqual([]);
  });

  test('reports its settings and its writes', async () => {
    const { engine, thread, states } = startThread();
    engine.push(...[1, 2, 2].map((recordClass) => ({ class: recordClass, records: 10, bytes: 50000 })));
    await until(() => thread.state.chunks === 3);
    const {
      state,
      chunks,
      records,
      bytes,
      limitBytes,
      fileBytes,
      dead,
      quarantined,
      commits,
      commitMs,
      commitMaxMs,
      bytesWritten
    } = thread.state;
    expect({ state, chunks, records, dead, quarantined }).toEqual({
      state: 'ready',
      chunks: 3,
      records: [0, 10, 20, 0, 0, 0, 0, 0, 0],
      dead: 0,
      quarantined: 0
    });
    expect(bytes).toBeGreaterThan(150000);
    expect(limitBytes).toBe(1 << 30);
    expect(fileBytes).toBeGreaterThan(150000);
    expect(commits).toBeGreaterThan(0);
    expect(commitMs).toBeGreaterThan(0);
    expect(commitMaxMs).toBeGreaterThanOrEqual(commitMs);
    // Chunks, WAL frames, the reserve.
    expect(bytesWritten).toBeGreaterThan(150000 + (6 << 20));
    expect(states[0].state).toBe('opening');
    expect(await thread.stop(1000)).toBe(true);
    expect(thread.state.state).toBe('stopped');
  });

  test('restarts a thread that dies: nothing lost, no row number used twice, the lock is free', async () => {
    const { engine, thread, states } = startThread();
    for (let round = 0; round < 4; round++) {
      engine.push(...Array.from({ length: 10 }, () => ({ bytes: 5000 })));
      await until(() => engine.held.size === 0);
      // Once between two turns, once in the middle of a transaction.
      if (round % 2 === 0) engine.crash();
      else engine.call(['crashNext'], ['push', { bytes: 100, key: 0 }]);
      await until(
        () => engine.events('source').length === round + 2 && engine.events('opened').length === round + 2
      );
    }
    expect(states.filter(({ code }) => code === 'THREAD')[0]).toMatchObject({
      state: 'failing',
      reason: expect.stringMatching(/crash asked for by the test.*restarts/)
    });
    const rows = engine.events('committed').map(({ row }) => row);
    expect(rows).toEqual([...new Set(rows)].sort((a, b) => a - b));
    await thread.stop(2000);
    expect(inspect(directory)).toMatchObject({ integrity: 'ok', chunks: { length: rows.length } });
  });

  test('reports all data on disk to another engine', async () => {
    const { engine, thread } = startThread();
    engine.push({ class: 2, records: 4 });
    await until(() => engine.held.size === 0);
    const second = new StoreEngine(++lastToken);
    cleanups.push(() => second.close());
    thread.attach(second.token);
    await until(() => second.events('opened').length === 1);
    expect(second.events('opened')[0]).toMatchObject({ maxRow: 1, records: [0, 0, 4, 0, 0, 0, 0, 0, 0] });
    // The thread may report the end of the first engine's log after it has opened the second one's.
    await until(() => engine.events('closed').length === 1);
  });

  test('returns false from stop when something is left to commit', async () => {
    fs.writeFileSync(path.join(directory, 'file'), '');
    const { engine, thread, states } = startThread({ directory: path.join(directory, 'file') });
    engine.push({});
    await until(() => thread.state.state === 'refused');
    expect(await thread.stop(100)).toBe(false);
    expect(states.at(-1).state).toBe('stopped');
  });
});

test('refuses a second process on the same folder, which takes over when the first is gone', async () => {
  fs.writeFileSync(path.join(directory, 'journal'), '');
  const child = startChild();
  await child.until((output) => output.includes('"ready"'));
  const { thread, engine } = startThread({ refusedMs: 200 });
  await until(() => thread.state.state === 'refused');
  expect(thread.state).toMatchObject({
    code: 'SQLITE_BUSY',
    reason: expect.stringContaining('in use by another process')
  });
  // It did the first one no harm.
  const commits = () => fs.readFileSync(path.join(directory, 'journal'), 'utf8').length;
  const before = commits();
  await until(() => commits() > before);
  child.kill('SIGKILL');
  await until(() => thread.state.state === 'ready');
  engine.push({});
  await until(() => engine.held.size === 0);
});

test(`has all reported rows after kill -9 in the middle of commits, ${KILLS} times (seed ${SEED}), and opens the log unaided`, async () => {
  const random = seeded(SEED);
  const journal = path.join(directory, 'journal');
  fs.writeFileSync(journal, '');
  let read = 0;
  const promises = new Promises();
  for (let round = 0; round < KILLS; round++) {
    const child = startChild({
      LOAD_SEED: String(SEED + round),
      LOAD_BYTES: String(1000 << random.integer(8))
    });
    const size = fs.statSync(journal).size;
    await until(() => fs.statSync(journal).size > size, 'load runs');
    const end = performance.now() + random.integer(300);
    await until(() => performance.now() >= end);
    child.kill('SIGKILL');
    await child.exited;
    expect(child.output).not.toContain('problem');
    const text = fs.readFileSync(journal, 'utf8');
    promises.add(text.slice(read));
    read = text.length;
    // The copy is opened, so that the next child finds the killed one's files.
    const copy = temporaryFolder();
    for (const name of ['log.db', 'log.db-wal'])
      fs.copyFileSync(path.join(directory, name), path.join(copy, name));
    expect(promises.broken(copy)).toEqual([]);
    fs.rmSync(copy, { recursive: true });
  }
  expect(promises.rows.size).toBeGreaterThan(KILLS);
});

test('opens a million records in 5,000 chunks in well under 200 ms', async () => {
  const first = new Rig({ directory });
  await until(() => first.state === 'ready');
  await first.stop();
  const db = new DatabaseSync(path.join(directory, 'log.db'));
  db.exec('PRAGMA synchronous = OFF; BEGIN');
  const insert = db.prepare(
    "INSERT INTO chunk VALUES (?, 'f1a2b3c4d5e6f7a8', ?, 200, 60000, 1, 2, zeroblob(60000))"
  );
  for (let id = 1; id <= 5000; id++) insert.run(id, 1 + (id % 4));
  db.exec('COMMIT');
  db.close();
  // Or the first sync of the store pays for all of this.
  const fd = fs.openSync(path.join(directory, 'log.db'), 'r+');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  const times = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    const rig = new Rig({ directory });
    await until(() => rig.events('opened').length === 1);
    times.push(performance.now() - start);
    expect(rig.events('opened')[0].records).toEqual([0, 250000, 250000, 250000, 250000, 0, 0, 0, 0]);
    await until(() => rig.state === 'ready');
    await rig.stop();
  }
  console.info(`opened 1,000,000 records in ms: ${times.map((ms) => ms.toFixed(1)).join(' ')}`);
  expect(times.sort((a, b) => a - b)[2]).toBeLessThan(200 * PATIENCE);
});
