'use strict';
// When batches are released, and what is in memory.

const { MemorySource } = require('../../fixtures/uplink/memory-source');
const { FileUplink } = require('../../../nodes/lib/parquet/uplink/file-uplink');
const { compileStage } = require('../../../nodes/lib/parquet/uplink/stage');

const LIMITS = { maxRows: 10, maxBytes: 1e6, maxWaitMs: 1000 };

/** An archive whose files are ready when the test wants it. */
class SlowArchive {
  /** @type {{ date: string, rows: any[], done: () => void, fail: (error: Error) => void }[]} */
  adds = [];

  /** @param {string} date @param {any[]} rows */
  add(date, rows) {
    return new Promise((resolve, reject) => {
      const file = { name: 'x', rows: rows.length, bytes: 100, from: 0, to: 0 };
      this.adds.push({ date, rows, done: () => resolve({ file, repeated: 0 }), fail: reject });
    });
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function makeUplink({ limits = LIMITS } = {}) {
  const archive = new SlowArchive();
  /** @type {MemorySource[]} */
  const sources = [];
  const clock = { ms: 0 };
  /** @type {[string, string][]} */
  const problems = [];
  class UplinkSource extends MemorySource {
    /** @param {unknown} _token @param {unknown} _uplink @param {() => void} onDoorbell */
    constructor(_token, _uplink, onDoorbell) {
      super(onDoorbell);
      sources.push(this);
    }
  }
  const uplink = new FileUplink(
    /** @type {any} */ ({
      options: { ...limits, gateway: 'gw', url: '/files', groups: [[1]], clientId: 'gw' },
      native: { UplinkSource },
      open: async () => archive,
      wake: () => {},
      now: () => clock.ms,
      problem: (/** @type {string} */ code, /** @type {string} */ reason) => problems.push([code, reason]),
      onStatus: () => {},
      onAdded: () => {}
    })
  );
  uplink.setStages(new Map([[1, compileStage({ valuePath: '', unitPath: '' })]]));
  uplink.attach(1, 1);
  uplink.start();
  await settled();
  return { uplink, archive, source: sources[0], sources, clock, problems };
}

/** @param {MemorySource} source @param {number} count */
function push(source, count) {
  for (let i = 0; i < count; i++) source.push({ payload: String(i) });
}

/** @param {FileUplink} uplink */
function turn(uplink) {
  uplink.schedule();
  uplink.turn();
}

test('releases batches when their file is written, not before', async () => {
  const { uplink, archive, source } = await makeUplink();
  push(source, 10);
  turn(uplink);
  await settled();
  expect(archive.adds).toHaveLength(1);
  expect(source.released).toEqual([]);
  archive.adds[0].done();
  await settled();
  expect(source.released).toHaveLength(10);
  expect(uplink.view()).toMatchObject({ acknowledged: 10, inflight: 0, state: 'connected' });
});

test('writes after the longest wait', async () => {
  const { uplink, archive, source, clock } = await makeUplink();
  push(source, 1);
  turn(uplink);
  clock.ms = 999;
  uplink.check();
  turn(uplink);
  expect(archive.adds).toHaveLength(0);
  clock.ms = 1000;
  uplink.check();
  turn(uplink);
  expect(archive.adds).toHaveLength(1);
});

test('takes no more than one lot while another one is written', async () => {
  const { uplink, source } = await makeUplink();
  push(source, 100);
  for (let i = 0; i < 5; i++) turn(uplink);
  expect(uplink.view().inflight).toBe(20);
});

test('releases nothing of a lot with two days until both files are written', async () => {
  const { uplink, archive, source } = await makeUplink();
  const lines = [0, 86400000].map((ts, s) => JSON.stringify({ d: 'a', t: '', ts, s, c: 3, p: 1 }));
  source.push({ kind: 1, payload: lines.join('\n'), count: 2 });
  uplink.hurry(true);
  turn(uplink);
  archive.adds[0].done();
  await settled();
  expect(archive.adds.map(({ date }) => date)).toEqual(['1970-01-01', '1970-01-02']);
  expect(source.released).toEqual([]);
  archive.adds[1].done();
  await settled();
  expect(source.released).toHaveLength(1);
});

describe('when a file cannot be written', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  test('says why, acknowledges nothing, takes nothing more, and goes on when there is room', async () => {
    const { uplink, archive, source, problems } = await makeUplink();
    push(source, 30);
    turn(uplink);
    archive.adds[0].fail(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }));
    await settled();
    turn(uplink);
    expect(uplink.view()).toMatchObject({
      state: 'disconnected',
      code: 'ENOSPC',
      acknowledged: 0,
      inflight: 10
    });
    expect(problems[0][1]).toMatch(/disk is full: free some space. The records wait/);
    expect(source.ups.at(-1)).toBe(false);
    jest.advanceTimersByTime(2000);
    expect(archive.adds).toHaveLength(2);
    expect(archive.adds[1].rows).toHaveLength(10);
    archive.adds[1].done();
    await settled();
    expect(source.released).toHaveLength(10);
    expect(source.ups.at(-1)).toBe(true);
    turn(uplink);
    expect(archive.adds).toHaveLength(3);
  });

  test('does not write a day again whose file is safe', async () => {
    const { uplink, archive, source } = await makeUplink();
    const lines = [0, 86400000].map((ts, s) => JSON.stringify({ d: 'a', t: '', ts, s, c: 3, p: 1 }));
    source.push({ kind: 1, payload: lines.join('\n'), count: 2 });
    uplink.hurry(true);
    turn(uplink);
    archive.adds[0].done();
    await settled();
    archive.adds[1].fail(new Error('gone'));
    await settled();
    jest.advanceTimersByTime(2000);
    expect(archive.adds.map(({ date }) => date)).toEqual(['1970-01-01', '1970-01-02', '1970-01-02']);
  });
});

test('releases nothing of an engine that is gone', async () => {
  const { uplink, archive, source, sources } = await makeUplink();
  push(source, 10);
  turn(uplink);
  uplink.detach();
  uplink.attach(2, 1);
  archive.adds[0].done();
  await settled();
  expect([source.released, sources[1].released]).toEqual([[], []]);
});

test('ends a lot with 64 days, because each day is a file', async () => {
  const { uplink, archive, source } = await makeUplink({ limits: { ...LIMITS, maxRows: 1000 } });
  for (let day = 0; day < 70; day++)
    source.push({
      kind: 1,
      payload: JSON.stringify({ d: 'a', t: '', ts: day * 86400000, s: 0, c: 3, p: 1 }),
      count: 1
    });
  turn(uplink);
  expect(archive.adds).toHaveLength(1);
  expect(uplink.closing?.days.size).toBe(64);
});
