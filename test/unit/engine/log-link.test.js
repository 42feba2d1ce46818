'use strict';

const { LogLink } = require('../../../nodes/lib/engine/log-link');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const { parts, stores, reset } = require('../../nodes/support/fake-parts');

beforeEach(reset);
afterEach(() => replaceModules());

function started(options = {}, store = parts.store) {
  replaceModules({ ...parts, store });
  const logged = [];
  const voice = Object.fromEntries(
    ['warn', 'error', 'info'].map((level) => [level, (sentence) => logged.push(`${level}: ${sentence}`)])
  );
  const clock = { ms: 0 };
  const log = new LogLink({ directory: '/log', whenFull: 'slow', ...options }, voice, () => clock.ms);
  log.start(7);
  return { log, logged, clock, store: stores[0] };
}

const failing = { state: 'failing', code: 'ENOSPC', reason: 'The disk is full. Make room.' };
const ready = { state: 'ready', code: '', reason: '' };

test('reports trouble once, not each second, and again when it has changed', () => {
  const { logged, store } = started();
  for (let i = 0; i < 5; i++) store.emit('state', { ...failing, chunks: i });
  expect(logged).toEqual(['error: The disk is full. Make room.']);
  store.emit('state', { state: 'failing', code: 'EROFS', reason: 'The disk is read-only.' });
  store.emit('state', ready);
  store.emit('state', ready);
  expect(logged.slice(1)).toEqual([
    'error: The disk is read-only.',
    'info: The log in /log is writable again.'
  ]);
});

test('reports intermittent trouble once a minute', () => {
  const { logged, clock, store } = started();
  for (let i = 0; i < 60; i++) {
    store.emit('state', failing);
    store.emit('state', ready);
    clock.ms += 900;
  }
  expect(logged).toHaveLength(2);
  clock.ms += 60000;
  store.emit('state', failing);
  expect(logged).toHaveLength(3);
});

test('warns of a full log, and has a text for an unknown state', () => {
  const { logged, store } = started();
  store.emit('state', { state: 'full' });
  store.emit('state', { state: 'refused', code: 'EACCES' });
  expect(logged).toEqual([
    'warn: The log in /log has reached its limit.',
    'error: The log in /log cannot be written (EACCES).'
  ]);
});

test('counts damaged chunks, and reports their number', () => {
  const { logged, clock, store } = started();
  const damaged = { code: 'CORRUPT', reason: 'A chunk is damaged and was set aside.', count: 1 };
  for (let i = 0; i < 4; i++) store.emit('problem', damaged);
  clock.ms += 60000;
  store.emit('problem', damaged);
  expect(logged).toEqual([
    'warn: A chunk is damaged and was set aside.',
    'warn: A chunk is damaged and was set aside. (4 times)'
  ]);
});

test('does not repeat a problem that the state reports', () => {
  const { logged, store } = started();
  store.emit('state', failing);
  store.emit('problem', { code: 'ENOSPC', reason: 'The disk is full. Make room.', count: 3 });
  expect(logged).toHaveLength(1);
});

test.each([
  [{ state: 'ready' }, ''],
  [{ state: 'opening' }, ''],
  [{ state: 'full' }, 'log full'],
  [{ state: 'failing', code: 'ENOSPC' }, 'disk full'],
  [{ state: 'failing', code: 'SQLITE_FULL' }, 'disk full'],
  [{ state: 'failing', code: 'EROFS' }, 'disk read-only'],
  [{ state: 'failing', code: 'SQLITE_IOERR_FSYNC' }, 'disk failing'],
  [{ state: 'failing', code: 'SQLITE_CANTOPEN' }, 'log failing'],
  [{ state: 'refused', code: 'SQLITE_BUSY' }, 'log in use'],
  [{ state: 'refused', code: 'EACCES' }, 'log refused']
])('shows %j as "%s"', (state, shown) => {
  const { log, store } = started();
  store.emit('state', state);
  expect(log.trouble()).toBe(shown);
});

test('lets devices continue while a full log drops', () => {
  const { log, store } = started({ whenFull: 'drop' });
  store.emit('state', { state: 'full' });
  expect(log.trouble()).toBe('');
});

test('reports a store that cannot start, and continues', async () => {
  const { log, logged } = started(
    {},
    {
      StoreThread: class {
        constructor() {
          throw new Error('No node:sqlite here. Use Node 22.16 or newer.');
        }
      }
    }
  );
  expect(logged).toEqual(['error: The log did not start: No node:sqlite here. Use Node 22.16 or newer.']);
  expect(log.trouble()).toBe('log refused');
  await log.stop(10);
});

test('keeps the reason why nothing was written until the end', async () => {
  const { log, store } = started();
  store.emit('state', failing);
  store.stop = async () => {
    store.emit('state', { state: 'stopped', code: '', reason: '' });
    return false;
  };
  await log.stop(3000);
  expect(log.view()).toMatchObject({ directory: '/log', state: 'stopped' });
  expect(log.reason()).toBe(': The disk is full. Make room');
});

describe('records of uplink nodes that are missing from the flow', () => {
  async function look({ log, clock }, names) {
    log.expect(names);
    clock.ms += 3000;
    log.tick();
    await Promise.resolve();
  }

  test('are reported once for each plan, with their number, their node and the remedy', async () => {
    const made = started();
    made.store.held = [
      { node: 'u1', records: 5 },
      { node: 'gone', records: 50 }
    ];
    made.store.emit('state', ready);
    made.log.expect(['u1']);
    made.log.tick();
    expect(made.logged).toEqual([]);
    await look(made, ['u1']);
    for (let i = 0; i < 3; i++) await made.log.tick();
    expect(made.logged).toEqual([
      expect.stringMatching(
        /^warn: 50 records in the log belong to uplink nodes that are not in the flow .*: gone \(50\).*Restore the nodes.*seganet-log dump \/log --node ID/
      )
    ]);
    await look(made, ['u1']);
    expect(made.logged).toHaveLength(2);
    await look(made, ['u1', 'gone']);
    expect(made.logged).toHaveLength(2);
  });

  test('are looked up once the log is open', async () => {
    const made = started();
    made.store.held = [{ node: 'gone', records: 1 }];
    made.store.emit('state', failing);
    await look(made, []);
    expect(made.logged).toHaveLength(1);
    made.store.emit('state', ready);
    made.log.tick();
    await Promise.resolve();
    expect(made.logged.at(-1)).toMatch(/gone \(1\)/);
  });
});
