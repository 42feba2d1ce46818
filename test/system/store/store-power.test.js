'use strict';

// Failing writes and syncs under load, with power cuts computed from the trace of all writes. For more:
// STORE_FAULTS=200 STORE_CUTS=400 STORE_SEED=… npm test -- test/system/store/store-power

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { ShimControl, compileShim } = require('../../fixtures/store/disk-shim');
const { cutPower } = require('../../fixtures/store/power-cut');
const { Rig, until } = require('../../fixtures/store/store-files');
const { needs } = require('../../../bench/harness/tools');

const { describe: withShim } = needs('cc');

const FAULTS = Number(process.env.STORE_FAULTS ?? 50);
const CUTS = Number(process.env.STORE_CUTS ?? 150);
const SEED = Number(process.env.STORE_SEED ?? Date.now() % 100000);
const MUTANTS = path.join(__dirname, '../../fixtures/store/store-mutants.js');
const CHILD = path.join(__dirname, '../../fixtures/store/store-child.js');

jest.setTimeout(20000 + FAULTS * 100 + CUTS * 300);

/** Images are written and synced often: in memory if such a place exists. */
const base = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
/** @type {string} */
let folder;
/** @type {ShimControl} */
let control;
/** @type {string} */
let shim;
/** @type {Child | undefined} */
let child;

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(base, 'seganet-power-'));
  fs.mkdirSync(path.join(folder, 'log'));
  shim = compileShim(folder);
  control = new ShimControl(path.join(folder, 'control'));
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await child?.exited;
  control.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const journal = () => {
  const file = path.join(folder, 'log', 'journal');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
};
const commits = () => journal().split('\nc ').length;

function start(env = {}, options = {}) {
  child = new Child(
    process.execPath,
    [
      '--require',
      MUTANTS,
      CHILD,
      path.join(folder, 'log'),
      JSON.stringify({ retryMinMs: 2, retryMaxMs: 20, ...options })
    ],
    {
      name: 'store child',
      env: {
        ...process.env,
        LD_PRELOAD: shim,
        SHIM_DIR: path.join(folder, 'log'),
        SHIM_TRACE: path.join(folder, 'trace'),
        SHIM_CONTROL: path.join(folder, 'control'),
        LOAD_JOURNAL: path.join(folder, 'log', 'journal'),
        LOAD_BYTES: '12000',
        LOAD_KEEP: '30',
        LOAD_SEED: String(SEED),
        ...env
      }
    }
  );
  return child;
}

async function kill() {
  child?.kill('SIGKILL');
  await child?.exited;
}

async function runFaults(mutant = '') {
  const running = start({ STORE_MUTANT: mutant, LOAD_FAULTS: String(FAULTS) });
  await until(
    () => running.exit || journal().includes('faults done'),
    'all faults injected',
    10000 + FAULTS * 100
  );
  expect(running.exit).toBeUndefined();
  await kill();
  return running;
}

async function moreCommits(count) {
  const before = commits();
  await until(() => commits() > before + count, 'more commits');
}

/** Many rows on many pages, so that the failing commit changes some that no earlier commit has put into the WAL. */
const WIDE = { LOAD_BYTES: '4000', LOAD_KEEP: '800' };

async function killWhileFailing(rounds, seed = 0) {
  start({ ...WIDE, LOAD_SEED: String(SEED + 100 * seed) });
  await moreCommits(1000);
  await kill();
  for (let round = 0; round < rounds; round++) {
    start({ ...WIDE, LOAD_SEED: String(SEED + round) }, { retryMinMs: 200 });
    await moreCommits(20);
    control.fail(['sync'], { skip: round, count: 1 << 30 });
    await child?.until((output) => output.includes('SQLITE_IOERR_FSYNC'));
    await kill();
    control.fail([], { count: 0 });
  }
}

const cut = (options = {}) =>
  cutPower({ trace: path.join(folder, 'trace'), folder, seed: SEED, cuts: CUTS, ...options });

withShim(`a failing disk (seed ${SEED})`, () => {
  test(`has all reported rows after ${FAULTS} failed writes and syncs, ${CUTS} power cuts, and opens the log unaided`, async () => {
    const running = await runFaults();
    expect(control.words.failed).toBeGreaterThanOrEqual(FAULTS);
    // It recovered by itself each time, and never lost or set aside anything.
    const lines = running.jsonLines();
    expect(lines.filter(({ state }) => state === 'failing').length).toBeGreaterThan(FAULTS / 4);
    expect(lines.filter(({ problem }) => problem)).toEqual([]);
    let opened = 0;
    const verdict = await cut({
      async check(directory) {
        if (opened++ % 5 > 0) return;
        const rig = new Rig({ directory });
        const isReady = () => rig.events('opened').length === 1 && rig.state === 'ready';
        await until(isReady).catch(() => {});
        expect([rig.store.condition, fs.readdirSync(directory)]).toEqual([
          { state: 'ready', code: '', reason: '' },
          expect.anything()
        ]);
        expect(rig.problems).toEqual([]);
        await rig.stop();
      }
    });
    expect(verdict.problems).toEqual([]);
    expect(verdict.cuts).toBeGreaterThan(CUTS / 2);
    expect(verdict.failures).toBeGreaterThan(0);
  });

  test('survives kill -9 during failing syncs, another start, and power cuts during it', async () => {
    await killWhileFailing(2);
    start(WIDE);
    await moreCommits(10);
    await kill();
    expect((await cut({ reach: 400 })).problems).toEqual([]);
  });
});

withShim('the check itself', () => {
  test('detects a store that believes a failed COMMIT', async () => {
    await runFaults('believe-failed-commits');
    const { problems } = await cut({ only: true });
    expect(problems.some((text) => /is lost/.test(text))).toBe(true);
  });

  test('detects a start that trusts a WAL whose sync failed', async () => {
    // Not each commit that fails does damage.
    for (let round = 0; round < 10; round++) {
      await killWhileFailing(1, round);
      start({ ...WIDE, STORE_MUTANT: 'trust-the-wal' });
      await moreCommits(10);
      await kill();
      const { problems } = await cut({ reach: 600, cuts: 200, only: true });
      if (problems.length > 0) return;
      for (const name of ['log', 'trace']) fs.rmSync(path.join(folder, name), { recursive: true });
      fs.mkdirSync(path.join(folder, 'log'));
    }
    throw new Error('not found in ten rounds');
  });
});
