'use strict';
// The path watcher's handling of path quality, without a network.

const { QualityWatch } = require('../../../nodes/lib/network/paths/quality-watch');
const { Watcher } = require('../../../nodes/lib/network/paths/path-watcher');
const { World } = require('../../fixtures/network/paths-world');

/** @type {World} */
let world;
/** @type {InstanceType<typeof Watcher>} */
let watcher;
beforeEach(() => {
  jest.useFakeTimers({ now: 1e12 });
  world = new World();
});
afterEach(async () => {
  await watcher.stop();
  jest.useRealTimers();
});
const pass = (/** @type {number} */ ms) => jest.advanceTimersByTimeAsync(ms);

const limits = {
  belowPercent: 40,
  lossPercent: 20,
  rttMs: Infinity,
  backupAfterMs: 3000,
  activeAfterMs: 5000
};
/** Two active paths with quality advice. @param {boolean} acts */
async function beginJudged(acts) {
  world.roles = ['active', 'active'];
  world.signals = { wwan0: -50 };
  const inspect = (/** @type {string[]} */ names) =>
    new Map(names.map((name) => [name, { dbm: world.signals[name] ?? null, bytes: null }]));
  const qualityWatch = new QualityWatch({ limits, everyMs: 1000, acts, inspect });
  watcher = new Watcher({ ...world.parts(), qualityWatch }, { probes: true, everyMs: 1000, timeoutMs: 700 });
  await watcher.start();
  await pass(100);
  world.done.length = 0;
  world.log.length = 0;
}

test('reports quality also where it advises nothing', async () => {
  await beginJudged(false);
  await pass(15_000);
  expect(world.log).toEqual([]);
  expect(world.status.paths[0]).toMatchObject({
    role: 'active',
    actingRole: 'active',
    advice: 'active',
    adviceWhy: '',
    quality: {
      signalDbm: null,
      linkPercent: null,
      rttMs: 0,
      lossPercent: 0,
      txBytesPerSecond: null,
      rxBytesPerSecond: null
    }
  });
  expect(world.status.paths[1].quality).toMatchObject({ signalDbm: -50, linkPercent: 86 });
});

test('only advises backup for a bad path, unless the user lets it act', async () => {
  await beginJudged(false);
  world.signals.wwan0 = -95;
  await pass(15_000);
  expect(world.done).toEqual([]);
  expect(world.log).toEqual([expect.stringMatching(/^wwan0: advice: backup: link quality of \d+ % /)]);
  expect(world.status.paths[1]).toMatchObject({ actingRole: 'active', advice: 'backup' });
});

test('makes a bad path backup without losing its subflows, and active when it is good again', async () => {
  await beginJudged(true);
  world.signals.wwan0 = -95;
  await pass(15_000);
  expect(world.done).toEqual(['change id 232 backup']);
  expect(world.log).toEqual([expect.stringMatching(/^wwan0: backup: link quality of \d+ % /)]);
  expect(world.status.paths[1]).toMatchObject({ role: 'active', actingRole: 'backup', advice: 'backup' });
  world.signals.wwan0 = -50;
  await pass(15_000);
  expect(world.done.slice(1)).toEqual(['change id 232 nobackup']);
  expect(world.log.slice(1)).toEqual(['wwan0: active: good for 5 s']);
  expect(world.status.paths[1]).toMatchObject({ actingRole: 'active', advice: 'active' });
});

test('recreates an endpoint with the current role of its path', async () => {
  await beginJudged(true);
  world.signals.wwan0 = -95;
  await pass(15_000);
  world.dead.add('wwan0');
  await pass(5000);
  world.dead.clear();
  await pass(3000);
  expect(world.done.slice(1)).toEqual(['delete id 232', 'add 10.0.2.1 dev wwan0 id 232 subflow backup']);
  expect(world.status.paths[1].adviceWhy).toMatch(/is below 40 %$/);
});

test('makes the only path left active at once', async () => {
  await beginJudged(true);
  world.signals.wwan0 = -95;
  await pass(15_000);
  world.interfaces[0] = { ...world.interfaces[0], carrier: false };
  watcher.event({ kind: 'link', device: 'eth0', isGone: false, carrier: false });
  await pass(1100);
  expect(world.done.slice(1)).toEqual(['delete id 231', 'change id 232 nobackup']);
  expect(world.log.at(-1)).toBe('wwan0: active: no other active path is up');
});

test('restores the configured roles when the watcher ends', async () => {
  await beginJudged(true);
  world.signals.wwan0 = -95;
  await pass(15_000);
  await watcher.stop();
  expect(world.done.slice(1)).toEqual(['change id 232 nobackup']);
  expect(jest.getTimerCount()).toBe(0);
});

test('counts lost probes while the path is up', async () => {
  await beginJudged(true);
  await pass(20_000);
  const { ask } = world.parts();
  let asked = 0;
  const bad = async (/** @type {any} */ path) =>
    path.name === 'eth0' && asked++ % 3 === 0 ? { ok: false, why: 'silent' } : ask(path);
  Object.assign(/** @type {any} */ (watcher).parts, { ask: bad });
  await pass(20_000);
  expect(world.done).toEqual(['change id 231 backup']);
  expect(world.log).toEqual([expect.stringMatching(/^eth0: backup: \d+ % of the probes had no answer/)]);
});

test('does not count fast probes as loss', async () => {
  await beginJudged(true);
  await pass(20_000);
  const { ask } = world.parts();
  const bad = async (/** @type {any} */ path, /** @type {number} */ timeoutMs) =>
    path.name === 'eth0' && timeoutMs < 700 ? { ok: false, why: 'silent' } : ask(path);
  Object.assign(/** @type {any} */ (watcher).parts, { ask: bad });
  watcher.suspect({ path: 'eth0', rttMs: 0 });
  await pass(10_000);
  expect(world.status.paths[0].quality).toMatchObject({ lossPercent: 0 });
});
