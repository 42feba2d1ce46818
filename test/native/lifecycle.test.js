'use strict';

const { Engine, UplinkSource, PushResult } = require('../../native');
const { stage, usualPlan, until, runNode, connectDevice } = require('./addon');
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

test('two engines of one process share nothing', async () => {
  const first = makeEngine();
  const second = makeEngine();
  expect(first.token).not.toBe(second.token);
  const ports = [first, second].map((engine) => engine.listen(stage.source, { host: '127.0.0.1', port: 0 }));
  expect(() => second.listen(stage.source, { host: '127.0.0.1', port: ports[0] })).toThrow(/listens already/);
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

test('a port in use is an error with its code', () => {
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

test('everything answers after close', () => {
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
  expect(engine.classify(stage.batch, 'd', 't', 2)).toBe(2);
  expect(engine.takeMessages(Buffer.alloc(100))).toBe(0);
  expect(engine.takeCompletions()).toEqual([]);
  engine.flush(0);
  engine.stopReading();
  expect(engine.stats().counters.recordsPushed).toBe(0);
  expect(source.best()).toBe(0);
  source.close();
  source.close();
  expect(source.best()).toBe(0);
  expect(source.take(Buffer.alloc(10), new Float64Array(12))).toBe(-1);
  expect(source.release(1, true)).toBe(false);
});

test('an uplink has one source, and its successor gets what was in flight', async () => {
  const engine = makeEngine();
  const first = new UplinkSource(engine.token, 0, () => {});
  expect(() => new UplinkSource(engine.token, 0, () => {})).toThrow(/uplink 0 is served already/);
  pushOne(engine);
  await until(() => engine.stats().counters.recordsPushed === 1, 'the record');
  engine.flush(stage.batch);
  const meta = new Float64Array(12);
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
  expect(second.release(meta[0], true)).toBe(true);
  expect(second.release(meta[0], true)).toBe(false);
  expect(engine.stats().heldRecords).toEqual([0, 0, 0, 0, 0]);
  engine.close();
});
