'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { Engine, UplinkSource } = require('../../native');
const { stage, usualPlan, until, runNode, threadCount } = require('./support/addon');

const sourceWorker = require.resolve('./children/source-worker');
const engineWorker = require.resolve('./children/engine-worker');

test('loses nothing with sources in twenty workers, terminated at any moment', async () => {
  const engine = new Engine({ workers: 1, memoryMiB: 16 }, () => {});
  engine.applyPlan(usualPlan());
  let pushed = 0;
  const traffic = setInterval(() => {
    for (let i = 0; i < 50; i += 1) {
      if (engine.push(stage.ingest, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, 0) === 0) pushed += 1;
    }
  }, 1);
  for (let i = 0; i < 20; i += 1) {
    const worker = new Worker(sourceWorker, {
      workerData: { token: engine.token, uplink: 0, keep: i % 2 === 0 }
    });
    await once(worker, 'message');
    await worker.terminate();
  }
  clearInterval(traffic);
  const last = new UplinkSource(engine.token, 0, () => {});
  const into = Buffer.alloc(1 << 16);
  const meta = new Float64Array(16);
  await until(() => engine.stats().counters.recordsPushed === pushed, 'all records');
  engine.flush(0);
  await until(() => {
    while (last.take(into, meta) > 0) last.release(meta[0]);
    return engine.stats().counters.recordsDelivered === pushed;
  }, 'all deliveries');
  expect(engine.stats().counters.batchesRedelivered).toBeGreaterThan(0);
  expect(engine.stats().heldBytes).toBe(0);
  engine.close();
}, 60_000);

test('leaves no threads behind with engines in twenty workers', async () => {
  const before = threadCount();
  for (let i = 0; i < 20; i += 1) {
    const worker = new Worker(engineWorker);
    await once(worker, 'message');
    await worker.terminate();
  }
  await until(() => threadCount() <= before, 'the threads to end');
}, 60_000);

test('keeps a source valid after its engine', async () => {
  const engine = new Engine({ workers: 1 }, () => {});
  engine.applyPlan(usualPlan());
  const worker = new Worker(sourceWorker, { workerData: { token: engine.token, uplink: 0 } });
  await once(worker, 'message');
  engine.close();
  await worker.terminate();
});

test('collects objects dropped without close, with their threads', async () => {
  const { code, signal, output } = await runNode(['--expose-gc', require.resolve('./children/gc-loop')]);
  expect({ code, signal, output }).toEqual({ code: 0, signal: null, output: '' });
}, 70_000);
