'use strict';
// What a forecast node learns from series nodes, with real engines and real series.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const { Engine } = require('../../../native');
const { ForecastFile, fileOf } = require('../../../nodes/lib/forecast/forecast-file');
const { SEASONS, slotBegin, teachHistory } = require('../../../nodes/lib/forecast/history');
const { parseChoices } = require('../../../nodes/lib/series');
const { SeriesThread } = require('../../../nodes/lib/series/series-thread');
const { until } = require('../../native/support/addon');

jest.setTimeout(30000);

const STAGE = 2;
/** A season of four slots of a minute. */
const settings = { path: '$.t', periodS: 240, slots: 4, maxSeries: 100, restores: true };
/** In the middle of a slot. */
const NOW = Math.floor(Date.now() / 240000) * 240000 + 90000;
const SLOT_MS = 60000;
const SLOTS = 36;

/** @type {string} */
let folder;
/** @type {(() => unknown)[]} */
const cleanups = [];
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'history-'))));
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  fs.rmSync(folder, { recursive: true });
});

const valueOf = (/** @type {number} */ slot) => 10 + (slot % 4) * 5 + ((slot * 7) % 5) / 10;

/** Opens series of a folder, as a series node does. */
function seriesNode({ name = 'series', choices = '', byTopic = false, search = 'latest' } = {}) {
  const limits = { maxSeries: 1000, maxPoints: 100000, days: 30, meansDays: 0, limitMiB: 64, searchMiB: 8 };
  const series = new SeriesThread({
    directory: path.join(folder, name),
    ...limits,
    search: /** @type {any} */ (search)
  });
  cleanups.push(() => series.stop());
  return /** @type {any} */ ({ series, numbers: { choices: parseChoices(choices), byTopic, maxValues: 64 } });
}

/** Stores two values a slot of the last SLOTS slots, and one of the current slot. */
async function fill(
  { series },
  { device = 'd', topic = 'plant/t', name = 't', slots = SLOTS, value = valueOf } = {}
) {
  const current = slotBegin(NOW, settings);
  const times = [];
  for (let slot = slots; slot > 0; slot--)
    times.push(current - slot * SLOT_MS + 5000, current - slot * SLOT_MS + 35000);
  times.push(current + 1000);
  const store = (/** @type {number} */ ts) =>
    new Promise((resolve, reject) => {
      const values = [value(Math.floor(ts / SLOT_MS))];
      series.put({ device, ts, names: [name], values, topic, text: '{}' }, (/** @type {any} */ error) =>
        error ? reject(error) : resolve(undefined)
      );
    });
  await Promise.all(times.map(store));
}

function startEngine(more = {}) {
  const engine = new Engine({ workers: 2, memoryMiB: 64 }, () => {});
  apply(engine, more);
  cleanups.push(() => engine.close());
  return engine;
}

/** @param {Engine} engine @param {object} more */
function apply(engine, more) {
  engine.applyPlan({
    stages: [
      { id: 1, kind: 'ingest', next: [STAGE], messages: false },
      { id: STAGE, kind: 'forecast', next: [], messages: true, ...settings, ...more }
    ]
  });
}

const forecastOf = (/** @type {Engine} */ engine) =>
  /** @type {any} */ (engine.stats().stages.find(({ id }) => id === STAGE)).forecast;

/** @param {Engine} engine @param {number} value @param {number} ts */
async function put(engine, value, ts, device = 'd', topic = 'plant/t') {
  const { points, skipped } = forecastOf(engine);
  engine.push(1, device, topic, Buffer.from(JSON.stringify({ t: value })), 0, 0, ts, -1, 0);
  await until(() => forecastOf(engine).points + forecastOf(engine).skipped > points + skipped, 'the value');
}

/** @param {Engine} engine @param {any[]} nodes */
const teach = (engine, nodes, options = {}) =>
  teachHistory(engine, STAGE, settings, { seriesNodes: () => nodes, now: () => NOW, ...options });

const begin = (/** @type {Engine} */ engine) => engine.restoreForecasts(STAGE, null, 0);

test('makes forecasts that are trusted at once', async () => {
  const node = seriesNode();
  await fill(node);
  const engine = startEngine();
  /** @type {object[]} */
  const progress = [];
  const taught = await teach(engine, [node], {
    onProgress: (/** @type {object} */ now) => progress.push({ ...now })
  });
  // Seasons before the last ones are left out.
  expect(taught).toEqual({ done: 1, of: 1, values: 2 * 4 * SEASONS, end: '', failure: '' });
  expect(progress).toHaveLength(1);
  begin(engine);
  const slot = Math.floor(NOW / SLOT_MS);
  await put(engine, valueOf(slot), NOW);
  expect(forecastOf(engine)).toMatchObject({ points: 1, untrusted: 0, anomalies: 0, series: 1 });
  await put(engine, 500, NOW + 1);
  expect(forecastOf(engine)).toMatchObject({ points: 2, untrusted: 0, anomalies: 1 });
});

test('is not learned again from records of its time', async () => {
  const node = seriesNode();
  await fill(node);
  const engine = startEngine();
  await teach(engine, [node]);
  begin(engine);
  const current = slotBegin(NOW, settings);
  await put(engine, 500, current - 1);
  expect(forecastOf(engine)).toMatchObject({ points: 1, late: 1 });
  await put(engine, valueOf(Math.floor(current / SLOT_MS)), current);
  expect(forecastOf(engine)).toMatchObject({ points: 2, late: 1, untrusted: 1 });
});

test('is found under the names that a series node gives', async () => {
  const chosen = seriesNode({ name: 'chosen', choices: 'warmth = $.t, other = $.u' });
  await fill(chosen, { name: 'warmth' });
  const byTopic = seriesNode({ name: 'by-topic', byTopic: true });
  await fill(byTopic, { device: 'e', topic: 'plant/in', name: 'in.t' });
  await fill(byTopic, { device: 'e', topic: 'plant/out', name: 'out.t' });
  const engine = startEngine();
  expect(await teach(engine, [chosen, byTopic])).toMatchObject({ done: 3, of: 3, end: '' });
  begin(engine);
  const value = valueOf(Math.floor(NOW / SLOT_MS));
  await put(engine, value, NOW);
  await put(engine, value, NOW, 'e', 'plant/in');
  await put(engine, value, NOW, 'e', 'plant/out');
  expect(forecastOf(engine)).toMatchObject({ points: 3, untrusted: 0 });
});

test('is left out if it mixes topics, has no topics, or is of another value', async () => {
  const mixed = seriesNode({ name: 'mixed' });
  await fill(mixed, { topic: 'a' });
  await fill(mixed, { topic: 'b' });
  const other = seriesNode({ name: 'other', choices: '$.u' });
  await fill(other, { name: 'u' });
  const off = seriesNode({ name: 'off', search: 'off' });
  await fill(off);
  const engine = startEngine();
  expect(await teach(engine, [mixed, other, off])).toMatchObject({ done: 0, of: 0, end: '' });
  expect(forecastOf(engine).series).toBe(0);
});

test('of two series nodes is learned from one', async () => {
  const [first, second] = [seriesNode({ name: '1' }), seriesNode({ name: '2' })];
  await fill(first, { slots: 0 });
  await fill(second);
  const engine = startEngine();
  expect(await teach(engine, [first, second, second])).toMatchObject({ done: 1, values: 64, end: '' });
});

test.each([
  ['series than there is room for', { maxSeries: 1 }, {}, { end: 'room', done: 1, of: 2 }],
  ['than there is time for', {}, { maxMs: 0 }, { end: 'time', done: 0, of: 2 }],
  ['than anyone needs', {}, { isOver: () => true }, { end: '', done: 0 }]
])('ends with more %s', async (_, change, options, end) => {
  const node = seriesNode();
  await fill(node);
  await fill(node, { device: 'e' });
  const engine = startEngine(change);
  const all = { ...settings, ...change };
  const taught = await teachHistory(engine, STAGE, all, {
    seriesNodes: () => [node],
    now: () => NOW,
    ...options
  });
  expect(taught).toMatchObject(end);
});

test.each([
  ['topics', 'time', {}],
  ['points', 'time', {}],
  ['points', '', { isOver: () => true }]
])('does not wait for a series thread that never answers: %s, %s', async (what, end, options) => {
  const node = seriesNode();
  await fill(node);
  const never = () => new Promise(() => {});
  const { series } = node;
  const hung = {
    topics: what === 'topics' ? never : (/** @type {any[]} */ ...args) => series.topics(...args),
    points: never
  };
  const taught = await teachHistory(startEngine(), STAGE, settings, {
    seriesNodes: () => [{ ...node, series: hung }],
    now: () => NOW,
    maxMs: 300,
    ...options
  });
  expect(taught).toMatchObject({ end, done: 0 });
});

test('ends when the stage has another model, has begun, or is gone', async () => {
  const node = seriesNode();
  await fill(node);
  const engine = startEngine({ periodS: 480 });
  expect(await teach(engine, [node])).toMatchObject({ end: 'model', done: 0 });
  expect(forecastOf(engine).series).toBe(0);
  apply(engine, {});
  begin(engine);
  expect(await teach(engine, [node])).toMatchObject({ end: 'gone' });
  engine.close();
  expect(await teach(engine, [node])).toMatchObject({ end: 'gone' });
});

describe('in the file of a node', () => {
  const seen = { infos: /** @type {string[]} */ ([]), warnings: /** @type {string[]} */ ([]) };
  beforeEach(() => {
    seen.infos.length = 0;
    seen.warnings.length = 0;
  });

  /** @param {any[]} nodes */
  async function openFile(nodes, engine = startEngine()) {
    const kept = path.join(folder, 'log');
    const file = new ForecastFile(
      { engine, keptIn: kept, keptFiles: new Set() },
      'node-1',
      STAGE,
      (sentence) => void seen.warnings.push(sentence),
      { lessons: { settings, seriesNodes: () => nodes, info: (sentence) => void seen.infos.push(sentence) } }
    );
    cleanups.push(() => file.stop());
    return { engine, file };
  }

  test('it is learned if there is no file, and not again if there is one', async () => {
    const node = seriesNode();
    await fill(node);
    const first = await openFile([node]);
    await first.file.loaded;
    expect(forecastOf(first.engine)).toMatchObject({ begun: true, series: 1 });
    expect(seen.infos).toEqual([expect.stringMatching(/^Learned \d+ values of 1 stored series in /)]);
    await put(first.engine, 10, Date.now());
    await first.file.stop();
    const second = await openFile([node]);
    await second.file.loaded;
    expect(forecastOf(second.engine)).toMatchObject({ begun: true, series: 1 });
    expect(seen.infos).toHaveLength(1);
    expect(seen.warnings).toEqual([]);
  });

  test('it is learned if the file is damaged or of another model', async () => {
    const node = seriesNode();
    await fill(node);
    const kept = path.join(folder, 'log');
    fs.mkdirSync(kept);
    fs.writeFileSync(path.join(kept, fileOf('node-1')), zlib.gzipSync('hello'));
    const first = await openFile([node]);
    await first.file.loaded;
    expect(forecastOf(first.engine)).toMatchObject({ begun: true, series: 1 });
    expect(seen.warnings).toEqual([expect.stringContaining('was damaged')]);
    await put(first.engine, 10, Date.now());
    await first.file.stop();
    // What is in the file is of another season from now on.
    const other = { ...settings, periodS: 480, slots: 8 };
    const engine = startEngine(other);
    const file = new ForecastFile({ engine, keptIn: kept, keptFiles: new Set() }, 'node-1', STAGE, () => {}, {
      lessons: { settings: other, seriesNodes: () => [node], info: () => {} }
    });
    cleanups.push(() => file.stop());
    await file.loaded;
    expect(forecastOf(engine)).toMatchObject({ begun: true, series: 1 });
  });

  test('a series node that cannot answer is a sentence, and records are scored', async () => {
    const node = seriesNode();
    await node.series.stop();
    const { engine, file } = await openFile([node]);
    await file.loaded;
    expect(seen.warnings).toEqual([
      expect.stringMatching(/^The stored series were not read to the end: .* The node goes on\.$/)
    ]);
    expect(forecastOf(engine).begun).toBe(true);
  });

  test('a deploy with another model meanwhile begins again with that one', async () => {
    const node = seriesNode();
    await fill(node);
    const other = { ...settings, periodS: 480, slots: 8 };
    const { series } = node;
    const engine = startEngine();
    /** @type {any} */
    let file = null;
    let pages = 0;
    const slow = {
      topics: series.topics.bind(series),
      points: async (/** @type {any} */ wanted, /** @type {any} */ range) => {
        const page = await series.points(wanted, range);
        if (++pages === 1) {
          apply(engine, other);
          file.lessons = { ...file.lessons, settings: other };
          file.planned();
        }
        return page;
      }
    };
    ({ file } = await openFile([{ ...node, series: slow }], engine));
    await until(() => forecastOf(engine).begun, 'the second model');
    expect(pages).toBe(2);
    expect(forecastOf(engine)).toMatchObject({ series: 1, skipped: 0 });
    await put(engine, 10, Date.now());
    expect(forecastOf(engine).untrusted).toBe(0);
  });

  test('the end of the gateway does not wait for it', async () => {
    const node = seriesNode();
    await fill(node);
    await fill(node, { device: 'e' });
    const { engine, file } = await openFile([node]);
    const start = performance.now();
    await file.stop();
    expect(performance.now() - start).toBeLessThan(5000);
    expect(forecastOf(engine).begun).toBe(true);
  });
});

test('ends where the current slot begins', () => {
  for (const [periodS, slots] of [
    [86400, 24],
    [10, 7],
    [604800, 1000]
  ])
    for (const now of [NOW, 1763712000001, 12345]) {
      const from = slotBegin(now, { periodS, slots });
      const slotOf = (/** @type {number} */ ms) => Math.floor((ms * slots) / (periodS * 1000));
      expect([slotOf(from), slotOf(from - 1)]).toEqual([slotOf(now), slotOf(now) - 1]);
    }
});
