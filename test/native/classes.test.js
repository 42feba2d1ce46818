'use strict';

// Classes at the native interface: sources that share an uplink, weights, rates and limits.

const { Engine, StoreSource, UplinkSource } = require('../../native');
const { stage, usualPlan, until } = require('./support/addon');

const ignore = () => {};

/** @type {Engine[]} */
const engines = [];
afterEach(() => engines.splice(0).forEach((engine) => engine.close()));

/**
 * An engine without a batch stage: each record is separate.
 * @param {import('../../native').EngineOptions} [options]
 */
function start(options = {}) {
  const engine = new Engine({ workers: 1, memoryMiB: 4, ...options }, ignore);
  engines.push(engine);
  const stages = usualPlan().stages.filter(({ kind }) => kind !== 'batch');
  engine.applyPlan({ stages: stages.map((each) => ({ ...each, next: each.next.map(() => stage.uplink) })) });
  return engine;
}

/** One value for each class, `given` by class. @param {number} other @param {Record<number, number>} given */
function byClass(other, given) {
  const probe = new Engine({ workers: 1 }, ignore);
  const { length } = probe.stats().heldRecords;
  probe.close();
  return Array.from({ length }, (_, c) => given[c] ?? other);
}

/** @param {Engine} engine @param {number} recordClass */
const push = (engine, recordClass) =>
  engine.push(stage.ingest, 'd', 't', Buffer.from('1'), recordClass, 0, 0, -1, 0);

/** Returns the class of the batch that was taken and acknowledged, 0 = none. @param {UplinkSource} source */
function take(source) {
  const meta = new Float64Array(16);
  if (source.take(Buffer.alloc(4096), meta) < 0) return 0;
  expect(source.release(meta[0])).toBe(true);
  return meta[1];
}

test('gives sources of an uplink their own classes', async () => {
  const engine = start();
  const urgent = new UplinkSource(engine.token, 0, ignore, [1, 2]);
  expect(() => new UplinkSource(engine.token, 0, ignore)).toThrow('already served');
  expect(() => new UplinkSource(engine.token, 0, ignore, [2, 3])).toThrow('already served');
  const rest = new UplinkSource(engine.token, 0, ignore, [3, 4]);
  push(engine, 4);
  push(engine, 2);
  await until(() => urgent.best() === 2 && rest.best() === 4, 'both records');
  expect(urgent.oldestMs()).toBeGreaterThanOrEqual(0);
  expect([take(urgent), take(urgent), take(rest), take(rest)]).toEqual([2, 0, 4, 0]);
  expect(rest.oldestMs()).toBe(-1);
  urgent.close();
  expect(urgent.best()).toBe(0);
  expect(new UplinkSource(engine.token, 0, ignore, [1]).best()).toBe(0);
});

test('writes the first record for a source that rests at once, without the linger', async () => {
  const engine = start({ acknowledge: 'safe', log: true, lingerMs: 1000 });
  const store = new StoreSource(engine.token, ignore);
  store.opened(0, Array(9).fill(0));
  const resting = new UplinkSource(engine.token, 0, ignore, undefined, true);
  push(engine, 3);
  let due = -1;
  await until(() => (due = store.due()) >= 0, 'a record to write');
  expect(due).toBe(0);
  resting.close();
  store.close();
});

test('checks classes of a source', () => {
  const engine = start();
  const made = (/** @type {any} */ classes) => () => new UplinkSource(engine.token, 0, ignore, classes);
  for (const classes of [null, 1, [], 'x', {}, [0], [1.5], [99], ['1']]) {
    expect(made(classes)).toThrow(/^classes must be/);
  }
  made([1, 1])().close();
});

test('reports the remaining time of a class that waits for its rate', async () => {
  const engine = start({ ratePerS: byClass(0, { 4: 2 }) });
  const source = new UplinkSource(engine.token, 0, ignore);
  expect(source.retryMs()).toBe(-1);
  for (let i = 0; i < 3; i += 1) push(engine, 4);
  await until(() => engine.stats().counters.recordsQueued === 3, 'all records');
  expect(take(source)).toBe(4);
  expect(source.best()).toBe(0);
  expect(source.retryMs()).toBeGreaterThan(0);
  expect(source.retryMs()).toBeLessThanOrEqual(500);
  await until(() => source.retryMs() === -1, 'its turn');
  expect(source.best()).toBe(4);
});

test('slows or drops a class with a limit', async () => {
  const slow = start({ queueRecords: byClass(0, { 4: 10 }) });
  await until(() => push(slow, 4) === 1, 'the limit');
  expect(slow.stats()).toMatchObject({ slowedFrom: 4 });
  expect(push(slow, 3)).toBe(0);

  const drop = start({ queueRecords: byClass(0, { 4: 10 }), whenFull: 'drop' });
  for (let i = 0; i < 25; i += 1) expect(push(drop, 4)).toBe(0);
  await until(() => drop.stats().drops.queueFull[4] === 15, 'the oldest to go');
  expect(drop.stats()).toMatchObject({ slowedFrom: 0 });
});

test('expires records in memory', async () => {
  const engine = start({ ttlS: byClass(0, { 4: 1 }) });
  push(engine, 4);
  await until(() => engine.stats().drops.expired[4] === 1, 'the record to expire');
});

test('sizes the batches of a session with demand', () => {
  const source = new UplinkSource(start().token, 0, ignore);
  source.demand();
  source.connected(true);
  source.demand();
  source.setBatchBytes(1024);
  source.setBatchBytes(65_536);
  for (const bytes of [1023, 65_537, '1024', undefined]) {
    // @ts-expect-error wrong on purpose
    expect(() => source.setBatchBytes(bytes)).toThrow(/^bytes must be a whole number from 1024 to 65536/);
  }
  source.close();
  source.demand();
  source.setBatchBytes(1024);
  expect(source.retryMs()).toBe(-1);
});

test('checks settings of classes', () => {
  const made = (/** @type {any} */ options) => () => new Engine({ workers: 1, ...options }, ignore).close();
  for (const [name, low, high] of /** @type {[string, number, number][]} */ ([
    ['weights', 1, 1000],
    ['ratePerS', 0, 10_000_000],
    ['queueRecords', 0, 2 ** 32 - 1],
    ['ttlS', 0, 2 ** 32 - 1]
  ])) {
    expect(made({ [name]: byClass(low, {}) })).not.toThrow();
    expect(made({ [name]: byClass(high, { 0: -1 }) })).not.toThrow();
    for (const wrong of [5, [1, 2], 'x', byClass(low - 1, {}), byClass(high + 1, {}), byClass(1.5, {})]) {
      expect(made({ [name]: wrong })).toThrow(new RegExp(`^${name} must be`));
    }
  }
  expect(made({ weights: byClass(1, { 1: 0 }) })).not.toThrow();
  expect(made({ agingMs: 0 })).not.toThrow();
  for (const wrong of [-1, 3_600_001, '1']) expect(made({ agingMs: wrong })).toThrow(/^agingMs must be/);
});
