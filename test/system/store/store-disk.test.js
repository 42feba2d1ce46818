'use strict';

// A full disk, a read-only disk, and calls that fail by libfiu. (Power cuts and many failures: store-power.test.js.)
// More failures: STORE_FAULTS=200 npm test -- test/system/store/store-disk

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { Promises } = require('../../fixtures/store/power-cut');
const { Rig, inspect, temporaryFolder, until } = require('../../fixtures/store/store-files');
const { needs } = require('../../../bench/harness/tools');

const FAULTS = Number(process.env.STORE_FAULTS ?? 12);
const { test: withMount } = needs('mount', ...(process.getuid?.() === 0 ? [] : ['root']));
const { test: withFiu } = needs('fiu-run', 'fiu-ctrl');

jest.setTimeout(40000 + FAULTS * 1000);

/** @type {string} */
let directory;
/** @type {(() => unknown)[]} */
const cleanups = [];
beforeEach(() => (directory = temporaryFolder()));
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  fs.rmSync(directory, { recursive: true, force: true });
});

const mount = (...args) => execFileSync('mount', args, { stdio: 'pipe' });

/** A small disk in memory under the folder. */
function mountDisk(mib) {
  mount('-t', 'tmpfs', '-o', `size=${mib}m`, 'seganet-test', directory);
  cleanups.push(() => execFileSync('umount', ['-l', directory]));
}

function rig(options) {
  const made = new Rig({ directory: path.join(directory, 'log'), ...options });
  cleanups.push(() => made.stop(0));
  return made;
}

const fill = () => {
  const fd = fs.openSync(path.join(directory, 'filler'), 'a');
  try {
    for (;;) fs.writeSync(fd, Buffer.alloc(65536));
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
  } finally {
    fs.closeSync(fd);
  }
};

const promised = (made) => [...made.source.stored.keys()];

/** The data on disk equal those acknowledged to the engine. */
async function expectKept(made) {
  await made.stop(5000);
  const { chunks, integrity } = inspect(made.directory);
  expect([integrity, chunks.map(({ id }) => Number(id))]).toEqual(['ok', promised(made)]);
}

describe('full disk', () => {
  withMount(
    'takes nothing and allows deletions and reads when others fill the disk, and continues by itself',
    async () => {
      mountDisk(32);
      const made = rig();
      await made.save(...Array.from({ length: 40 }, () => ({ bytes: 50000 })));
      fill();
      for (let i = 0; i < 300; i++) made.source.push({ bytes: 50000 });
      await until(() => made.state === 'failing');
      expect(made.store.condition).toMatchObject({
        code: 'SQLITE_FULL',
        reason: expect.stringMatching(/is full. Free space on it; the log then continues on its own/)
      });
      await until(
        () => made.store.recovery.isDry && !made.store.recovery.isBroken,
        'recovers with the space of the reserve'
      );
      const before = promised(made);
      made.source.want('uplink', 3, 0, 10);
      for (const row of before.slice(0, 30)) made.source.free(row);
      await until(() => made.events('missing').length === 1 && promised(made).length === before.length - 30);
      expect(made.events('loaded').every(({ verdict }) => verdict === 'ok')).toBe(true);
      expect(made.state).toBe('failing');
      expect(promised(made)).toEqual(before.slice(30));
      fs.rmSync(path.join(directory, 'filler'));
      await until(() => made.state === 'ready' && promised(made).length > before.length);
      await expectKept(made);
    }
  );

  withMount(
    "recovers unaided when the log itself filled the disk and the cloud's acknowledgements make room",
    async () => {
      mountDisk(24);
      const made = rig();
      for (let i = 0; i < 600; i++) made.source.push({ bytes: 50000, key: i });
      await until(() => made.state === 'failing');
      expect(promised(made).length).toBeGreaterThan(50);
      for (let turn = 0; made.events('committed').length < 600; turn++) {
        expect(turn).toBeLessThan(60);
        const freeing = promised(made).slice(0, 40);
        for (const row of freeing) made.source.free(row);
        await until(() => freeing.every((row) => !made.source.stored.has(row)));
        // The file has to shrink before the reserve comes back; that is done once a second.
        made.store.tick();
        made.store.tick();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await until(() => made.state === 'ready');
      await expectKept(made);
    }
  );

  withMount('reports, reads and deletes existing records at the start', async () => {
    mountDisk(24);
    const first = rig();
    await first.save(...Array.from({ length: 50 }, () => ({ bytes: 50000 })));
    await first.stop();
    fs.rmSync(path.join(first.directory, 'log.reserve'));
    fill();
    const made = rig();
    await until(() => made.state === 'failing' && made.events('opened').length === 1);
    expect(made.store.condition.code).toBe('SQLITE_FULL');
    made.source.want('uplink', 3);
    await until(() => made.events('missing').length === 1);
    expect(made.events('loaded')).toHaveLength(50);
    fs.rmSync(path.join(directory, 'filler'));
    await until(() => made.state === 'ready');
    await made.save({});
  });
});

describe('read-only disk', () => {
  withMount('reports it at the start, and continues once writing works', async () => {
    mountDisk(24);
    fs.mkdirSync(path.join(directory, 'log'));
    mount('-o', 'remount,ro', directory);
    const made = rig();
    await until(() => made.state === 'failing');
    expect(made.store.condition).toMatchObject({
      code: 'SQLITE_READONLY',
      reason: expect.stringMatching(/read-only/)
    });
    mount('-o', 'remount,rw', directory);
    await until(() => made.state === 'ready');
    await made.save({});
  });

  withMount('does the same with an existing log', async () => {
    mountDisk(24);
    const first = rig();
    await first.save({}, {});
    await first.stop();
    mount('-o', 'remount,ro', directory);
    const made = rig();
    made.source.push({});
    await until(() => made.state === 'failing');
    expect(made.store.condition.code).toBe('SQLITE_READONLY');
    expect(made.events('committed')).toEqual([]);
    mount('-o', 'remount,rw', directory);
    await until(() => made.events('committed').length === 1);
    expect(made.events('opened')[0].records).toEqual([0, 0, 0, 2, 0, 0, 0, 0, 0]);
  });
});

/** Node's SQLite calls pwrite64 and fsync; libfiu can make both fail. */
withFiu(`has all reported rows after ${FAULTS} writes and syncs that libfiu fails`, async () => {
  const journal = path.join(directory, 'journal');
  fs.writeFileSync(journal, '');
  const child = new Child(
    'fiu-run',
    [
      '-x',
      process.execPath,
      path.join(__dirname, '../../fixtures/store/store-child.js'),
      path.join(directory, 'log'),
      '{"retryMinMs":20,"retryMaxMs":100}'
    ],
    { name: 'store child', env: { ...process.env, LOAD_JOURNAL: journal } }
  );
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  await child.until((output) => output.includes('"ready"'));
  const node = Number(execFileSync('pgrep', ['-g', String(child.pid), '-n'], { encoding: 'utf8' }));
  const calls = ['posix/io/sync/fsync', 'posix/io/rw/pwrite'];
  for (let n = 0; n < FAULTS; n++) {
    const before = child.jsonLines().filter(({ state }) => state === 'failing').length;
    const call = calls[n % calls.length];
    execFileSync('fiu-ctrl', ['-c', `enable name=${call}`, String(node)]);
    await until(
      () => child.jsonLines().filter(({ state }) => state === 'failing').length > before,
      `${call} fails`
    );
    execFileSync('fiu-ctrl', ['-c', `disable name=${call}`, String(node)]);
    const size = fs.statSync(journal).size;
    await until(
      () => child.jsonLines().at(-1).state === 'ready' && fs.statSync(journal).size > size,
      'it goes on by itself'
    );
  }
  child.kill('SIGKILL');
  await child.exited;
  const promises = new Promises();
  promises.add(fs.readFileSync(journal, 'utf8'));
  expect(promises.rows.size).toBeGreaterThan(0);
  expect(promises.broken(path.join(directory, 'log'))).toEqual([]);
  expect(child.output).not.toContain('problem');
});
