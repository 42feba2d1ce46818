'use strict';

const { Engine, UplinkSource, StoreSource, PushResult } = require('../../native');
const { stage, usualPlan, until, runNode, connectDevice } = require('./support/addon');
const { names } = require('./children/exit-at');

const child = require.resolve('./children/exit-at');

describe('a process ends cleanly', () => {
  const endings = names.flatMap((name) =>
    /doorbell|exception/.test(name)
      ? [[name, '']]
      : [
          [name, ''],
          [name, 'exit']
        ]
  );
  test.each(endings)(
    '%s %s',
    async (name, how) => {
      const { code, signal, output } = await runNode([child, name, how]);
      const planned = name.startsWith('by an exception');
      expect({ code, signal, output }).toEqual({
        code: planned ? 1 : 0,
        signal: null,
        output: planned ? expect.stringContaining('planned') : ''
      });
    },
    70_000
  );
});

/** @returns {Engine} */
function makeEngine() {
  const engine = new Engine({ workers: 1, memoryMiB: 4 }, () => {});
  engine.applyPlan(usualPlan());
  return engine;
}

const pushOne = (/** @type {Engine} */ engine) =>
  engine.push(stage.ingest, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, 0);

test('shares nothing between two engines of one process', async () => {
  const first = makeEngine();
  const second = makeEngine();
  expect(first.token).not.toBe(second.token);
  const ports = [first, second].map((engine) => engine.listen(stage.source, { host: '127.0.0.1', port: 0 }));
  expect(() => second.listen(stage.source, { host: '127.0.0.1', port: ports[0] })).toThrow(
    /is already listening/
  );
  const device = await connectDevice(ports[0], 'd');
  await until(() => first.stats().devices === 1, 'the device');
  expect(second.stats().devices).toBe(0);
  pushOne(first);
  first.close();
  device.destroy();
  expect(first.stats().drops.closed[3]).toBe(1);
  expect(second.stats().drops.closed[3]).toBe(0);
  expect(pushOne(second)).toBe(PushResult.OK);
  second.close();
});

test('reports a port in use as an error with its code', () => {
  const first = makeEngine();
  const second = makeEngine();
  const port = first.listen(stage.source, { host: '127.0.0.1', port: 0 });
  expect(() => second.listen(stage.source, { host: '127.0.0.1', port })).toThrow(
    expect.objectContaining({ code: 'EADDRINUSE' })
  );
  first.close();
  expect(second.listen(stage.source, { host: '127.0.0.1', port })).toBe(port);
  second.close();
});

test('answers every call after close', () => {
  const engine = makeEngine();
  const source = new UplinkSource(engine.token, 0, () => {});
  const { token } = engine;
  engine.close();
  engine.close();
  const closed = expect.objectContaining({ code: 'ERR_SEGANET_CLOSED' });
  expect(engine.token).toBe(token);
  expect(engine.workers()).toHaveLength(1);
  expect(engine.workerOf('d')).toBe(0);
  expect(() => engine.applyPlan(usualPlan())).toThrow(closed);
  expect(() => engine.listen(stage.source, { host: '127.0.0.1', port: 0 })).toThrow(closed);
  expect(() => new UplinkSource(token, 0, () => {})).toThrow(closed);
  engine.unlisten(stage.source);
  expect(pushOne(engine)).toBe(PushResult.CLOSED);
  expect(engine.classify(stage.batch, 'd', 't', Buffer.from('1'), 2)).toBe(2);
  expect(engine.takeMessages(Buffer.alloc(100))).toBe(0);
  expect(engine.takeCompletions()).toEqual([]);
  engine.flush(0);
  engine.stopReading();
  expect(engine.stats().counters.recordsPushed).toBe(0);
  expect(source.best()).toBe(0);
  source.close();
  source.close();
  expect(source.best()).toBe(0);
  expect(source.take(Buffer.alloc(10), new Float64Array(16))).toBe(-1);
  expect(source.release(1)).toBe(false);
});

test('gives an uplink one source, and its successor gets the in-flight batches', async () => {
  const engine = makeEngine();
  const first = new UplinkSource(engine.token, 0, () => {});
  expect(() => new UplinkSource(engine.token, 0, () => {})).toThrow(/uplink 0 is already served/);
  pushOne(engine);
  await until(() => engine.stats().counters.recordsPushed === 1, 'the record');
  engine.flush(stage.batch);
  const meta = new Float64Array(16);
  await until(() => first.best() === 3, 'the batch');
  expect(first.take(Buffer.alloc(1), meta)).toBeLessThan(-2);
  const into = Buffer.alloc(200);
  const length = first.take(into, meta);
  expect(JSON.parse(into.toString('utf8', 0, length))).toMatchObject({ d: 'd', t: 't', s: 0, c: 3, p: 1 });
  expect(meta[9]).toBe(0);
  first.close();
  const second = new UplinkSource(engine.token, 0, () => {});
  expect(second.take(into, meta)).toBe(length);
  expect(meta[9]).toBe(1);
  expect(second.release(meta[0])).toBe(true);
  expect(second.release(meta[0])).toBe(false);
  expect(engine.stats().heldRecords).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  engine.close();
});

test('takes, commits and frees log chunks; a thread that ends returns its chunks', async () => {
  const engine = new Engine({ workers: 1, acknowledge: 'safe', log: true, lingerMs: 0 }, () => {});
  const plan = usualPlan();
  const uplink = /** @type {any} */ (plan.stages.find(({ kind }) => kind === 'uplink'));
  uplink.name = 'to-cloud';
  engine.applyPlan(plan);
  const first = new StoreSource(engine.token, () => {});
  first.opened(0, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect(first.due()).toBe(-1);
  pushOne(engine);
  engine.flush(stage.batch);
  await until(() => first.due() === 0, 'something due');
  const meta = new Float64Array(10);
  const into = Buffer.alloc(4096);
  expect(first.take(Buffer.alloc(1), meta)).toBeLessThan(-2);
  expect(first.take(into, meta)).toBeGreaterThan(96);
  const ticket = meta[0];
  first.close();
  expect(first.take(into, meta)).toBe(-1);
  first.committed(ticket, 1);
  expect(engine.stats().unsavedRecords).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0]);

  const second = new StoreSource(engine.token, () => {});
  const length = second.take(into, meta);
  expect([...meta.subarray(1, 4), meta[6], meta[7]]).toEqual([3, 1, 1, 0, 8]);
  expect(into.toString('latin1', 0, 12)).toBe('to-cloudSGC1');
  second.committed(meta[0], 5);
  expect(engine.stats()).toMatchObject({
    unsavedRecords: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    storedRecords: [0, 0, 0, 1, 0, 0, 0, 0, 0],
    backlogRecords: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    counters: { recordsStored: 1, chunksStored: 1, bytesStored: length - 8, storeFailures: 1 }
  });
  const source = new UplinkSource(engine.token, 0, () => {});
  const head = new Float64Array(16);
  expect(source.take(into, head)).toBeGreaterThan(0);
  expect(head[12]).toBe(engine.epoch);
  source.release(head[0]);
  const rows = new Float64Array(4);
  expect(second.frees(rows)).toBe(1);
  expect(rows[0]).toBe(5);
  second.freed();
  expect(second.frees(rows)).toBe(0);
  engine.close();
  expect(second.due()).toBe(-1);
  second.close();
});
