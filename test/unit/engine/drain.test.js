'use strict';

const { drain, isDelivered, isSafe, unsafeRecords } = require('../../../nodes/lib/engine/drain');

const nothing = { size: 0, run: () => {} };

/** An engine that holds this many records at each reading, then none. */
function engineHolding(counts) {
  const engine = {
    flushes: 0,
    flush: () => engine.flushes++,
    stats: () => ({ heldRecords: [0, counts.shift() ?? 0] })
  };
  return engine;
}

describe('drain', () => {
  const quick = { timeoutMs: 5000, pollMs: 1 };

  test('continues until nothing is held, and seals batches meanwhile', async () => {
    const engine = engineHolding([3, 1]);
    expect(await drain({ engine, inbox: nothing }, isDelivered, quick)).toBe(true);
    expect(engine.flushes).toBe(3);
  });

  test('waits for messages that are not in the engine yet', async () => {
    const inbox = { size: 2, run: () => inbox.size-- };
    expect(await drain({ engine: engineHolding([]), inbox }, isDelivered, quick)).toBe(true);
    expect(inbox.size).toBe(0);
  });

  test('gives up when its time is over', async () => {
    const engine = engineHolding(Array(1000).fill(1));
    expect(await drain({ engine, inbox: nothing }, isDelivered, { timeoutMs: 10, pollMs: 1 })).toBe(false);
  });

  test('gives up when waiting cannot help', async () => {
    const engine = engineHolding(Array(1000).fill(1));
    const goesOn = () => engine.flushes < 3;
    expect(await drain({ engine, inbox: nothing }, isDelivered, { ...quick, goesOn })).toBe(false);
    expect(engine.flushes).toBe(3);
  });

  test('may require several readings in a row', async () => {
    const engine = engineHolding([0, 1, 0, 0]);
    expect(await drain({ engine, inbox: nothing }, isDelivered, { ...quick, readings: 2 })).toBe(true);
    expect(engine.flushes).toBe(4);
  });
});

describe('records that are only in memory', () => {
  const stats = (held, unsaved, stored, backlog) => ({
    heldRecords: [0, 0, 0, held, 0],
    unsavedRecords: [0, 0, 0, unsaved, 0],
    storedRecords: [0, 0, 0, stored, 0],
    backlogRecords: [0, 0, 0, backlog, 0]
  });

  test.each([
    ['nothing', stats(0, 0, 0, 0), 0],
    ['a backlog', stats(0, 0, 9, 9), 0],
    ['stored and in memory too', stats(5, 0, 9, 4), 0],
    ['unsaved', stats(5, 5, 0, 0), 5],
    ['unsaved beside a backlog', stats(5, 5, 9, 9), 5],
    ['an open batch', stats(2, 0, 9, 9), 2],
    ['open, unsaved and stored', stats(9, 3, 4, 0), 5]
  ])('%s', (_what, given, count) => {
    expect(unsafeRecords(given)).toBe(count);
    expect(isSafe(given)).toBe(count === 0);
  });

  test('counts each class separately', () => {
    const given = stats(0, 0, 9, 0);
    given.heldRecords[1] = 2;
    expect(unsafeRecords(given)).toBe(2);
  });
});
