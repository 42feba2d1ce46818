'use strict';
// The file of a forecast node, with real engines: what is there after a stop, after a crash, and after damage.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const { Engine } = require('../../../native');
const {
  ForecastFile,
  fileOf,
  fileOfNode,
  removeForgotten
} = require('../../../nodes/lib/forecast/forecast-file');
const { until } = require('../../native/support/addon');

const STAGE = 2;
/** @type {string} */
let folder;
/** @type {string[]} */
let warnings;
/** @type {Engine[]} */
const engines = [];
beforeEach(() => {
  folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'forecast-')), 'log');
  warnings = [];
});
afterEach(() => {
  for (const engine of engines.splice(0)) engine.close();
  fs.rmSync(path.dirname(folder), { recursive: true });
});

const plan = (/** @type {object} */ settings) => ({
  stages: [
    { id: 1, kind: 'ingest', next: [STAGE], messages: false },
    {
      id: STAGE,
      kind: 'forecast',
      next: [],
      messages: true,
      periodS: 4,
      slots: 4,
      annotate: true,
      restores: true,
      ...settings
    }
  ]
});

function host({ workers = 2, settings = {} } = {}) {
  const engine = new Engine({ workers, memoryMiB: 64 }, () => {});
  engine.applyPlan(plan(settings));
  engines.push(engine);
  return { engine, keptIn: folder, keptFiles: new Set() };
}

const warn = (/** @type {string} */ sentence) => void warnings.push(sentence);

/** @param {{ intervalMs?: number, workers?: number, settings?: object }} [options] */
async function start({ intervalMs, ...options } = {}) {
  const { engine, ...rest } = host(options);
  const file = new ForecastFile({ engine, ...rest }, 'node-1', STAGE, warn, { intervalMs });
  await file.loaded;
  return { engine, file };
}

const forecastOf = (/** @type {Engine} */ engine) =>
  engine.stats().stages.find(({ id }) => id === STAGE)?.forecast;

/** Puts values of slots from `from` on. @param {Engine} engine */
async function put(engine, from, values, device = 'd') {
  const { points = 0, skipped = 0 } = forecastOf(engine) ?? {};
  values.forEach((value, i) =>
    engine.push(1, device, 't', Buffer.from(String(value)), 0, 0, (from + i) * 1000 + 1, -1, 0)
  );
  await until(() => {
    const now = forecastOf(engine);
    return now && now.points + now.skipped === points + skipped + values.length;
  }, 'the values');
}
const learn = (/** @type {Engine} */ engine, device = 'd') =>
  put(
    engine,
    0,
    Array.from({ length: 40 }, (_, i) => 10 + (i % 4) * 5 + ((i * 7) % 5) / 10),
    device
  );

const file = () => path.join(folder, fileOf('node-1'));

test('goes on in the next run where the last one ended', async () => {
  const first = await start();
  await learn(first.engine);
  await first.file.stop();
  expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(folder)).toEqual(['forecast-node-1.gz']);
  const second = await start({ workers: 1 });
  expect(forecastOf(second.engine)).toMatchObject({ begun: true, series: 1, points: 0 });
  await put(second.engine, 40, [500]);
  expect(forecastOf(second.engine)).toMatchObject({ anomalies: 1, untrusted: 0 });
  expect(warnings).toEqual([]);
});

test('is written while the engine runs, if values came, so that a crash loses little', async () => {
  const { engine } = await start({ intervalMs: 20 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(fs.existsSync(folder)).toBe(false);
  await learn(engine);
  await until(() => fs.existsSync(file()), 'the file');
  // The last values may come after the first file. Then nothing is written in five intervals.
  await until(async () => {
    const { ino } = fs.statSync(file());
    await new Promise((resolve) => setTimeout(resolve, 100));
    return fs.statSync(file()).ino === ino;
  }, 'no file for the same values');
  // The engine of the next run knows what a crash left.
  const second = await start();
  await put(second.engine, 40, [500]);
  expect(forecastOf(second.engine)?.anomalies).toBe(1);
});

test.each([
  ['cut', (/** @type {Buffer} */ bytes) => bytes.subarray(0, bytes.length / 2), 0],
  ['empty', () => Buffer.alloc(0), 0],
  ['of another program', () => zlib.gzipSync('hello'), 0],
  [
    'with half a row',
    (/** @type {Buffer} */ bytes) => zlib.gzipSync(zlib.gunzipSync(bytes).subarray(0, -1)),
    1
  ]
])('is set aside if it is damaged: %s', async (_, damage, left) => {
  const first = await start();
  await learn(first.engine, 'a');
  await learn(first.engine, 'b');
  await first.file.stop();
  fs.writeFileSync(file(), damage(fs.readFileSync(file())));
  const second = await start();
  expect(warnings).toEqual([expect.stringMatching(/was damaged and is now .*forecast-node-1\.gz\.damaged-/)]);
  expect(forecastOf(second.engine)).toMatchObject({ begun: true, series: left });
  await learn(second.engine, 'c');
  await second.file.stop();
  expect(forecastOf((await start()).engine)?.series).toBe(left + 1);
});

test('is not used by another model, and is replaced by what that one learns', async () => {
  const first = await start();
  await learn(first.engine);
  await first.file.stop();
  const second = await start({ settings: { model: 'seasonalNaive' } });
  expect(forecastOf(second.engine)).toMatchObject({ begun: true, series: 0 });
  await learn(second.engine);
  await second.file.stop();
  expect(forecastOf((await start()).engine)?.series).toBe(0);
  expect(warnings).toEqual([]);
});

test('gives a stage that is made again what it had learned', async () => {
  const { engine, ...rest } = host();
  const made = fileOfNode({ engine, ...rest }, 'node-1', STAGE, warn);
  await made.loaded;
  await learn(engine);
  await made.save();
  engine.applyPlan({ stages: [{ id: 1, kind: 'ingest', next: [], messages: true }] });
  engine.applyPlan(plan({}));
  expect(forecastOf(engine)).toMatchObject({ begun: false });
  await put(engine, 40, [500]);
  expect(forecastOf(engine)).toMatchObject({ skipped: 1, points: 0 });
  made.planned();
  await until(() => forecastOf(engine)?.begun, 'the file');
  await put(engine, 40, [500]);
  expect(forecastOf(engine)?.anomalies).toBe(1);
  // A deploy that changes no model reads nothing.
  engine.applyPlan(plan({ sigmas: 6 }));
  made.planned();
  expect(forecastOf(engine)).toMatchObject({ begun: true, anomalies: 1 });
  await made.stop();
});

test('that cannot be written is a sentence, and the next one is tried', async () => {
  fs.writeFileSync(folder, 'not a folder');
  const { engine, file: kept } = await start({ intervalMs: 20 });
  await learn(engine);
  await until(() => warnings.some((each) => each.includes('The forecasts were not written')), 'the warning');
  fs.rmSync(folder);
  await until(() => fs.existsSync(file()), 'the file');
  await kept.stop();
});

test('of a node that was deleted long ago is removed', async () => {
  fs.mkdirSync(folder);
  const old = (Date.now() - 91 * 86400000) / 1000;
  for (const name of ['forecast-gone.gz', 'forecast-mine.gz', 'log.db']) {
    fs.writeFileSync(path.join(folder, name), '');
    fs.utimesSync(path.join(folder, name), old, old);
  }
  fs.writeFileSync(path.join(folder, 'forecast-new.gz'), '');
  await removeForgotten(folder, (name) => name === fileOf('mine'));
  expect(fs.readdirSync(folder).sort()).toEqual(['forecast-mine.gz', 'forecast-new.gz', 'log.db']);
  await removeForgotten(path.join(folder, 'none'), () => false);
});

test('has a name of its own for the id of a node in nested subflows', () => {
  expect(fileOf('a1b2.c3')).toBe('forecast-a1b2.c3.gz');
  expect(fileOf('x'.repeat(65))).toMatch(/^forecast-[0-9a-f]{64}\.gz$/);
  expect(fileOf('../x')).toMatch(/^forecast-[0-9a-f]{64}\.gz$/);
});
