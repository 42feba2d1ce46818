'use strict';
// The file of last values, with real engines: what is there after a stop, after a crash, and after damage.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const { Engine } = require('../../../native');
const { ValueFile, FILE } = require('../../../nodes/lib/engine/value-file');
const { stage, until, usualPlan } = require('../../native/support/addon');

/** @type {string} */
let folder;
/** @type {Engine[]} */
const engines = [];
/** @type {string[]} */
let warnings;
beforeEach(() => {
  folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'values-')), 'log');
  warnings = [];
});
afterEach(() => {
  for (const engine of engines.splice(0)) engine.close();
  fs.rmSync(path.dirname(folder), { recursive: true });
});

/** @param {{ intervalMs?: number, valuesMiB?: number }} [options] */
async function start({ intervalMs, valuesMiB = 1 } = {}) {
  const engine = new Engine({ workers: 2, valuesMiB, memoryMiB: 64 }, () => {});
  engine.applyPlan(usualPlan());
  engines.push(engine);
  const file = new ValueFile(engine, folder, (sentence) => void warnings.push(sentence), intervalMs);
  await file.loaded;
  return { engine, file };
}

/** @param {Engine} engine @param {string} device @param {string} payload */
async function publish(engine, device, payload) {
  const { records } = { records: engine.stats().counters.recordsPushed };
  engine.push(stage.ingest, device, 't', Buffer.from(payload), 0, 0, 0, -1, 0);
  await until(() => engine.stats().counters.recordsPushed > records, 'the record');
}

/** @param {Engine} engine */
const shown = (engine) =>
  engine
    .values({})
    .values.map(({ device, payload, restored }) => `${device}=${payload}${restored ? '*' : ''}`);
const file = () => path.join(folder, FILE);

test('has the values of the run before, until their devices send', async () => {
  const first = await start();
  await publish(first.engine, 'a', '1');
  await publish(first.engine, 'b', '2');
  await first.file.stop();
  expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
  const second = await start();
  expect(shown(second.engine)).toEqual(['a=1*', 'b=2*']);
  await publish(second.engine, 'b', '3');
  expect(shown(second.engine)).toEqual(['a=1*', 'b=3']);
  await second.file.stop();
  expect(shown((await start()).engine)).toEqual(['a=1*', 'b=3*']);
  expect(warnings).toEqual([]);
});

/** True if nothing was written in five intervals. */
async function isLeftAlone() {
  const { ino } = fs.statSync(file());
  await new Promise((resolve) => setTimeout(resolve, 100));
  return fs.statSync(file()).ino === ino;
}

test('is written while the engine runs, if something changed, so that a crash loses little', async () => {
  const { engine } = await start({ intervalMs: 20 });
  await publish(engine, 'a', '1');
  await until(() => fs.existsSync(file()), 'the file');
  expect(shown((await start()).engine)).toEqual(['a=1*']);
  await until(isLeftAlone, 'no file for the same values');
  const { ino } = fs.statSync(file());
  await publish(engine, 'a', '2');
  await until(() => fs.statSync(file()).ino !== ino, 'the next file');
  expect(fs.readdirSync(folder)).toEqual([FILE]);
});

test('is not there without values', async () => {
  const { file: values } = await start();
  await values.stop();
  expect(fs.existsSync(folder)).toBe(false);
});

const header = Buffer.from('SGV1');
test.each([
  ['cut', (/** @type {Buffer} */ bytes) => bytes.subarray(0, bytes.length / 2)],
  ['empty', () => Buffer.alloc(0)],
  ['of another program', () => zlib.gzipSync('hello')],
  [
    'with a changed byte',
    (/** @type {Buffer} */ bytes) => Buffer.from(bytes.map((b, i) => (i === 30 ? b ^ 1 : b)))
  ],
  [
    'with a row that is too short',
    () => zlib.gzipSync(Buffer.concat([header, Buffer.from([1, 0, 0, 0, 0])]))
  ],
  ['with a row that is too long', () => zlib.gzipSync(Buffer.concat([header, Buffer.alloc(20, 0xff)]))],
  ['with a row that is none', () => zlib.gzipSync(Buffer.concat([header, Buffer.from([16, 0, 0, 0]), Buffer.alloc(16)]))] // prettier-ignore
])('is set aside if it is damaged: %s', async (_, damage) => {
  const first = await start();
  await publish(first.engine, 'a', '1');
  await first.file.stop();
  fs.writeFileSync(file(), damage(fs.readFileSync(file())));
  const second = await start();
  expect(shown(second.engine)).toEqual([]);
  expect(warnings).toEqual([expect.stringMatching(/was damaged and is now .*last-values\.gz\.damaged-/)]);
  await publish(second.engine, 'a', '2');
  await second.file.stop();
  expect(shown((await start()).engine)).toEqual(['a=2*']);
});

test('leaves out the oldest values if there is less memory', async () => {
  const first = await start({ valuesMiB: 8 });
  for (let i = 0; i < 3000; i++) {
    const pushed = () =>
      first.engine.push(stage.ingest, `d${i}`, 't', Buffer.alloc(1000, 'x'), 0, 0, 0, -1, 0);
    if (i === 2000) {
      await until(() => first.engine.stats().keptValues === 2000, 'the first values');
      // Later by more than the file's unit of time.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(pushed()).toBe(0);
  }
  await until(() => first.engine.stats().keptValues === 3000, 'the values');
  await first.file.stop();
  const { engine } = await start({ valuesMiB: 1 });
  const { keptValues, valueBytes, counters } = engine.stats();
  expect(keptValues).toBeGreaterThan(500);
  expect(keptValues).toBeLessThan(1000);
  expect(valueBytes).toBeLessThanOrEqual(1 << 20);
  expect(counters.valuesEvicted).toBe(0);
  const devices = engine.values({ limit: 1000 }).values.map(({ device }) => Number(device.slice(1)));
  expect(Math.min(...devices)).toBeGreaterThanOrEqual(2000);
});

test('that cannot be written is a sentence, and the next one is tried', async () => {
  fs.writeFileSync(folder, 'not a folder');
  const { engine, file: values } = await start({ intervalMs: 20 });
  await publish(engine, 'a', '1');
  await until(() => warnings.some((each) => each.includes('were not written')), 'the warning');
  fs.rmSync(folder);
  await until(() => fs.existsSync(file()), 'the file');
  await values.stop();
});
