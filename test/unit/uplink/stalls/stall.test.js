'use strict';

// Records that stand still although the way is free: a store thread that was not woken, and the watch that notices it.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { until } = require('../../../../bench/harness/broker');
const { express, pause } = require('../../../fixtures/uplink/express');
const { stage } = require('../../../fixtures/uplink/express-bench');
const { deafNative } = require('../../../fixtures/store/deaf-store-native');
const { StoreThread } = require('../../../../nodes/lib/store');

jest.setTimeout(90000);

const { cleanups, startAboard } = express();

/** @param {number[]} byClass */
const sum = (byClass) => byClass.reduce((total, each) => total + each, 0);
/** Records in memory and on disk. @param {any} bench */
function waiting({ engine }) {
  const { heldRecords, backlogRecords } = engine.stats();
  return sum(heldRecords) + sum(backlogRecords);
}

/** Records of an outage wait on disk, and nobody reads them when the broker is back. */
async function standStill() {
  const engine = { log: true, memoryMiB: 1 };
  const { broker, bench } = await startAboard({ more: { engine } });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-stall-'));
  const { nativePath, file } = deafNative(folder);
  const store = new StoreThread({ directory: path.join(folder, 'log'), nativePath });
  cleanups.push(async () => {
    await bench.stop(0);
    await store.stop(1000);
    fs.rmSync(folder, { recursive: true });
  });
  store.attach(bench.engine.token);
  await broker.close();
  await until(() => bench.last.state !== 'connected');
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 100; j++) bench.batch(stage.envelope, 3, `{"v":"${'x'.repeat(900)}"}`);
    await pause(5);
  }
  await until(() => store.state.chunks > 10 && sum(bench.engine.stats().backlogRecords) > 100);
  fs.writeFileSync(file, '');
  await broker.listen();
  await until(() => bench.last.state === 'connected');
  return { bench, file };
}

test('wakes, counts and reports them, and everything arrives without another record', async () => {
  const { bench, file } = await standStill();
  await until(() => bench.last.stalls === 1, 30000, 'the stall');
  const { reason } = bench.problems.find(({ code }) => code === 'STALL');
  expect(reason).toMatch(/^Records that wait on disk did not move for \d+ s although the session is up/);
  expect(bench.last.isStallRepeating).toBe(false);
  expect(waiting(bench)).toBeGreaterThan(0);
  fs.rmSync(file);
  await until(() => waiting(bench) === 0, 30000, 'the rest');
  expect(bench.last.stalls).toBe(2);
  expect(bench.last.isStallRepeating).toBe(true);
});
