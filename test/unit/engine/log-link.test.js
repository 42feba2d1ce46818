'use strict';

const { LogLink } = require('../../../nodes/lib/engine/log-link');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const { parts, stores, reset } = require('../../nodes/support/fake-parts');

beforeEach(reset);
afterEach(() => replaceModules());

function started(options = {}, store = parts.store) {
  replaceModules({ ...parts, store });
  const said = [];
  const voice = Object.fromEntries(
    ['warn', 'error', 'info'].map((level) => [level, (sentence) => said.push(`${level}: ${sentence}`)])
  );
  const clock = { ms: 0 };
  const log = new LogLink({ directory: '/log', whenFull: 'slow', ...options }, voice, () => clock.ms);
  log.start(7);
  return { log, said, clock, store: stores[0] };
}

const failing = { state: 'failing', code: 'ENOSPC', reason: 'The disk is full. Make room.' };
const ready = { state: 'ready', code: '', reason: '' };

test('trouble is said once, not each second, and again when it has changed', () => {
  const { said, store } = started();
  for (let i = 0; i < 5; i++) store.emit('state', { ...failing, chunks: i });
  expect(said).toEqual(['error: The disk is full. Make room.']);
  store.emit('state', { state: 'failing', code: 'EROFS', reason: 'The disk is read-only.' });
  store.emit('state', ready);
  store.emit('state', ready);
  expect(said.slice(1)).toEqual([
    'error: The disk is read-only.',
    'info: The log in /log is writable again.'
  ]);
});

test('trouble that comes and goes is said once a minute', () => {
  const { said, clock, store } = started();
  for (let i = 0; i < 60; i++) {
    store.emit('state', failing);
    store.emit('state', ready);
    clock.ms += 900;
  }
  expect(said).toHaveLength(2);
  clock.ms += 60000;
  store.emit('state', failing);
  expect(said).toHaveLength(3);
});

test('a full log warns, and a state without a sentence gets one', () => {
  const { said, store } = started();
  store.emit('state', { state: 'full' });
  store.emit('state', { state: 'refused', code: 'EACCES' });
  expect(said).toEqual([
    'warn: The log in /log has reached its limit.',
    'error: The log in /log cannot be written (EACCES).'
  ]);
});

test('damaged chunks are counted, and told with their number', () => {
  const { said, clock, store } = started();
  const damaged = { code: 'CORRUPT', reason: 'A chunk is damaged and was set aside.', count: 1 };
  for (let i = 0; i < 4; i++) store.emit('problem', damaged);
  clock.ms += 60000;
  store.emit('problem', damaged);
  expect(said).toEqual([
    'warn: A chunk is damaged and was set aside.',
    'warn: A chunk is damaged and was set aside. (4 times)'
  ]);
});

test('a problem that the state tells already is not told twice', () => {
  const { said, store } = started();
  store.emit('state', failing);
  store.emit('problem', { code: 'ENOSPC', reason: 'The disk is full. Make room.', count: 3 });
  expect(said).toHaveLength(1);
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
])('%j shows "%s"', (state, shown) => {
  const { log, store } = started();
  store.emit('state', state);
  expect(log.trouble()).toBe(shown);
});

test('a full log that drops holds nobody up', () => {
  const { log, store } = started({ whenFull: 'drop' });
  store.emit('state', { state: 'full' });
  expect(log.trouble()).toBe('');
});

test('a store that cannot start is told, and stops nothing', async () => {
  const { log, said } = started(
    {},
    {
      StoreThread: class {
        constructor() {
          throw new Error('No node:sqlite here. Use Node 22.16 or newer.');
        }
      }
    }
  );
  expect(said).toEqual(['error: The log did not start: No node:sqlite here. Use Node 22.16 or newer.']);
  expect(log.trouble()).toBe('log refused');
  await log.stop(10);
});

test('at the end it stays known why nothing was written', async () => {
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

describe('records of uplink nodes that the flow does not have', () => {
  async function look({ log, clock }, names) {
    log.expect(names);
    clock.ms += 3000;
    log.tick();
    await Promise.resolve();
  }

  test('are reported once for each plan, with their number, their node and what to do', async () => {
    const made = started();
    made.store.held = [
      { node: 'u1', records: 5 },
      { node: 'gone', records: 50 }
    ];
    made.store.emit('state', ready);
    made.log.expect(['u1']);
    made.log.tick();
    expect(made.said).toEqual([]);
    await look(made, ['u1']);
    for (let i = 0; i < 3; i++) await made.log.tick();
    expect(made.said).toEqual([
      expect.stringMatching(
        /^warn: 50 records in the log belong to uplink nodes that are not in the flow .*: gone \(50\).*Restore the nodes.*seganet-log dump \/log --node ID/
      )
    ]);
    await look(made, ['u1']);
    expect(made.said).toHaveLength(2);
    await look(made, ['u1', 'gone']);
    expect(made.said).toHaveLength(2);
  });

  test('are looked for once the log is open', async () => {
    const made = started();
    made.store.held = [{ node: 'gone', records: 1 }];
    made.store.emit('state', failing);
    await look(made, []);
    expect(made.said).toHaveLength(1);
    made.store.emit('state', ready);
    made.log.tick();
    await Promise.resolve();
    expect(made.said.at(-1)).toMatch(/gone \(1\)/);
  });
});
