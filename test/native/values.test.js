'use strict';
// The last values of devices: what JavaScript gets of them.

const { Engine } = require('../../native');
const { stage, until, usualPlan } = require('./support/addon');

/** @type {Engine[]} */
const engines = [];
afterEach(() => {
  for (const engine of engines.splice(0)) engine.close();
});

/** @param {import('../../native').EngineOptions} [options] */
function start(options) {
  const engine = new Engine({ workers: 2, valuesMiB: 1, ...options }, () => {});
  engine.applyPlan(usualPlan());
  engines.push(engine);
  return engine;
}

/** @param {Engine} engine @param {string} device @param {string} topic @param {string | Buffer} payload */
const push = (engine, device, topic, payload) =>
  engine.push(stage.ingest, device, topic, Buffer.from(payload), 0, 0, 1700000000000, -1, 0);

/** @param {Engine} engine @param {number} count */
const keeps = (engine, count) => until(() => engine.stats().keptValues === count, `${count} values`);

test('are text, bytes, or a size alone', async () => {
  const engine = start();
  push(engine, 'a', 'json', '{"ts":1,"temp":21.1}');
  push(engine, 'a', 'nul', 'a\0b');
  push(engine, 'a', 'binary', Buffer.from([0xff, 0]));
  push(engine, 'a', 'surrogate', Buffer.from([0xed, 0xa0, 0x80]));
  push(engine, 'a', 'most', '1'.repeat(1024));
  push(engine, 'a', 'more', '1'.repeat(1025));
  push(engine, 'a', 'deep', `${'['.repeat(500)}1${']'.repeat(500)}`);
  await keeps(engine, 7);
  const { values, next, more } = engine.values({});
  expect([next, more]).toEqual([null, false]);
  const byTopic = Object.fromEntries(values.map((value) => [value.topic, value]));
  expect(byTopic.json).toEqual({
    device: 'a',
    topic: 'json',
    ts: 1700000000000,
    class: 3,
    seq: 0,
    size: 20,
    payload: '{"ts":1,"temp":21.1}',
    number: 21.1,
    line: [...Array(59).fill(null), 21.1],
    restored: false
  });
  expect(byTopic.nul.payload).toBe('a\0b');
  expect(byTopic.binary).toMatchObject({ payload: Buffer.from([0xff, 0]), number: null, line: null });
  expect(byTopic.surrogate.payload).toEqual(Buffer.from([0xed, 0xa0, 0x80]));
  expect(byTopic.most.payload).toHaveLength(1024);
  expect(byTopic.more).toMatchObject({ payload: null, size: 1025, number: null });
  expect(byTopic.deep).toMatchObject({ size: 1001, number: null });
});

test('are paged, filtered, searched, and returned once when they change', async () => {
  const engine = start();
  for (let i = 0; i < 10; i++) push(engine, `d${i}`, i % 2 ? 'plant/odd' : 'plant/even', `value ${i}`);
  await keeps(engine, 10);
  const devices = (/** @type {import('../../native').ValueQuery} */ query) => {
    const page = engine.values(query);
    return [page.values.map(({ device }) => device).join(' '), page.next];
  };
  expect(devices({ limit: 3 })).toEqual(['d0 d1 d2', { device: 'd2', topic: 'plant/even' }]);
  expect(devices({ limit: 3, after: { device: 'd2', topic: 'plant/even' } })[0]).toBe('d3 d4 d5');
  expect(devices({ filter: '+/odd' })).toEqual(['d1 d3 d5 d7 d9', null]);
  expect(devices({ search: 'VALUE 7' })).toEqual(['d7', null]);
  expect(devices({ device: 'd4' })).toEqual(['d4', null]);
  const { at } = engine.values({ since: 0 });
  expect(engine.values({ since: at }).values).toEqual([]);
  push(engine, 'd3', 'plant/odd', 'new');
  await until(() => engine.values({ since: at }).values.length === 1, 'the change');
  expect(engine.values({ since: at }).values[0]).toMatchObject({ device: 'd3', payload: 'new', seq: 1 });
  const levels = [0, 1].flatMap((worker) => engine.valueLevels(worker, 'plant/', null)?.levels ?? []);
  expect(levels.reduce((sum, { values }) => sum + values, 0)).toBe(10);
});

test('survive in rows, of which a damaged one is refused', async () => {
  const engine = start();
  push(engine, 'a', 't', '7');
  await keeps(engine, 1);
  const rows = Buffer.concat(
    [0, 1].map((worker) => engine.saveValues(worker, null)?.rows ?? Buffer.alloc(0))
  );
  const next = start();
  expect(next.restoreValues(rows)).toBe(1);
  expect(next.values({}).values[0]).toMatchObject({ device: 'a', payload: '7', number: 7, restored: true });
  expect(() => next.restoreValues(rows.subarray(1))).toThrow('rows must be rows of saveValues');
  expect(next.restoreValues(Buffer.alloc(0))).toBe(0);
});

test('have limits that are named when they are exceeded', async () => {
  const engine = start({ valueTopics: 2, valuesNotKept: ['secret/#'] });
  for (const topic of ['1', '2', '3', 'secret/1']) push(engine, 'a', topic, 'x');
  await until(() => engine.stats().counters.valuesEvicted === 1, 'an eviction');
  expect(engine.values({}).values.map(({ topic }) => topic)).toEqual(['2', '3']);
  expect(engine.stats().valueBytes).toBeGreaterThan(0);
  const wrong = (/** @type {any} */ query) => expect(() => engine.values(query));
  wrong(undefined).toThrow('query must be an object');
  wrong({ limit: 1001 }).toThrow('limit');
  wrong({ filter: 'a/#/b' }).toThrow('filter must be a topic filter');
  wrong({ after: 'a' }).toThrow('after must be an object');
  expect(() => start({ valuesNotKept: ['a#'] })).toThrow("valuesNotKept: 'a#' is not a topic filter");
  expect(() => start({ valuesNotKept: Array(65).fill('a') })).toThrow('more than 64 topic filters');
  expect(() => start({ valuesNotKept: /** @type {any} */ ('a') })).toThrow('must be an array');
});

test('are none of a closed engine', () => {
  const engine = start();
  engine.close();
  expect(engine.values({})).toMatchObject({ values: [], next: null });
  expect(engine.valueLevels(0, '', null)).toBe(null);
  expect(engine.saveValues(0, null)).toBe(null);
});
