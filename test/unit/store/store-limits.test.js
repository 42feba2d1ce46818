'use strict';

const fs = require('node:fs');
const { Limits, Usage, costOf } = require('../../../nodes/lib/store/log-limits');
const { checkOptions } = require('../../../nodes/lib/store/log-options');
const { Rig, inspect, until } = require('../../fixtures/store/store-files');

/** @type {Rig[]} */
const rigs = [];
function rig(options) {
  const made = new Rig(options);
  rigs.push(made);
  return made;
}
afterEach(async () => {
  for (const made of rigs.splice(0)) {
    await made.stop(0);
    fs.rmSync(made.directory, { recursive: true, force: true });
  }
});

const KIB = 1024;
/** This many of them fit into 1 MiB: 15. */
const FIT = Math.floor((1 << 20) / costOf(60 * KIB));
const chunks = (count, chunk) =>
  Array.from({ length: count }, (_, key) => ({ bytes: 60 * KIB, key, ...chunk }));

/** The bytes on disk of class 1 to 4. */
const perClass = (made) => made.store.usage.chunks.slice(1, 5);

describe('the size that a chunk counts', () => {
  test.each([[1], [4000], [60 * KIB], [64 * KIB], [1 << 20]])(
    'for %i bytes is about what SQLite takes',
    async (bytes) => {
      const made = rig();
      await made.save({ bytes: Math.max(28, bytes) });
      const before = made.store.recovery.database.pages().used;
      const count = bytes > 100000 ? 10 : 100;
      await made.save(...chunks(count, { bytes: Math.max(28, bytes) }));
      const taken = (made.store.recovery.database.pages().used - before) * 4096;
      expect(count * costOf(bytes)).toBeGreaterThan(taken * 0.95);
      // A small row shares its page with others.
      if (bytes > 4000) expect(count * costOf(bytes)).toBeLessThan(taken * 1.15 + 8192);
    }
  );
});

describe('full, slow', () => {
  test('takes no more at its limit, reports it, and continues by itself when rows are freed', async () => {
    const made = rig({ limitMiB: 1 });
    for (const chunk of chunks(30, { class: 3 })) made.source.push(chunk);
    await until(() => made.state === 'full');
    expect(made.store.condition.reason).toMatch(/limit of 1 MiB/);
    const taken = made.source.stored.size;
    expect(taken).toBe(FIT);
    expect(made.store.usage.totalBytes).toBeLessThanOrEqual(1 << 20);
    expect(made.events('failed')).toHaveLength(1);
    const rows = [...made.source.stored.keys()];
    for (const row of rows.slice(0, 5)) made.source.free(row);
    await until(() => made.events('committed').length === taken + 5);
    for (const row of made.source.stored.keys()) made.source.free(row);
    await until(() => made.events('committed').length === 30 && made.state === 'ready');
    const order = made.events('committed').map(({ key }) => key);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  test('does not let a full class hold up another', async () => {
    const made = rig({ limitMiB: 64, classLimitMiB: [0, 0, 0, 0, 1, 0, 0, 0, 0] });
    for (const chunk of chunks(30, { class: 4 })) made.source.push(chunk);
    await until(() => made.state === 'full');
    expect(made.store.condition.reason).toMatch(/class 4, 1 MiB/);
    made.source.push({ class: 2 });
    await until(() => perClass(made)[1] === 1);
    expect(perClass(made)[3]).toBe(FIT);
    for (const row of made.source.stored.keys()) made.source.free(row);
    await until(() => made.events('committed').length === 31 && made.state === 'ready');
  });

  test('does not let a small chunk take the place of an earlier larger one of its class', async () => {
    const made = rig({ limitMiB: 64, classLimitMiB: [0, 0, 0, 0, 1, 0, 0, 0, 0] });
    const sent = [...chunks(FIT + 1, { class: 4 }), { class: 4, bytes: 1000, key: FIT + 1 }];
    for (const chunk of sent) made.source.push(chunk);
    await until(() => made.state === 'full');
    expect(perClass(made)[3]).toBe(FIT);
    for (const row of made.source.stored.keys()) made.source.free(row);
    await until(() => made.events('committed').length === sent.length);
    expect(made.events('committed').map(({ key }) => key)).toEqual(sent.map(({ key }) => key));
  });

  test('does not spin with a full log while it waits, nor while a class waits', async () => {
    const made = rig({ limitMiB: 1, classLimitMiB: [0, 0, 0, 0, 0, 0, 0, 0, 0] });
    for (const chunk of chunks(30)) made.source.push(chunk);
    await until(() => made.state === 'full');
    const before = made.source.log.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(made.source.log.length).toBe(before);
  });

  test('reads a log that was full at the start when the uplink requests it, while chunks wait', async () => {
    const first = rig({ limitMiB: 1 });
    const rows = await first.save(...chunks(FIT, { class: 3 }));
    await first.stop();
    const made = rig({ directory: first.directory, limitMiB: 1 });
    made.source.push({ class: 3, bytes: 60 * KIB });
    await until(() => made.state === 'full');
    // The uplink connects only now.
    made.source.want('uplink', 3, 0, rows.at(-1));
    await until(() => made.events('missing').length === 1);
    expect(made.events('loaded').map(({ row }) => row)).toEqual(rows);
    for (const row of rows) made.source.free(row);
    await until(() => made.events('committed').length === 1 && made.state === 'ready');
  });

  test('holds a chunk larger than the limit only until the log is empty', async () => {
    const made = rig({ limitMiB: 1 });
    await made.save({ class: 3 });
    made.source.push({ class: 3, bytes: 3 << 20 });
    await until(() => made.state === 'full');
    made.source.free(1);
    await until(() => made.events('committed').length === 2);
  });
});

describe('full, drop', () => {
  test('drops the oldest chunk of the least urgent class, and notifies the engine', async () => {
    const made = rig({ limitMiB: 1, whenFull: 'drop' });
    await made.save(...chunks(8, { class: 4, records: 3 }), ...chunks(7, { class: 3 }));
    expect(perClass(made)).toEqual([0, 0, 7, 8]);
    await made.save(...chunks(3, { class: 2 }));
    expect(made.events('removed').map(({ class: c, records }) => [c, records])).toEqual([
      [4, 3],
      [4, 3],
      [4, 3]
    ]);
    const oldest = made
      .events('committed')
      .filter((event) => event.class === 4)
      .map(({ row }) => row);
    expect(made.events('removed').map(({ row }) => row)).toEqual(oldest.slice(0, 3));
    expect(perClass(made)).toEqual([0, 3, 7, 5]);
    await made.stop();
    expect(inspect(made.directory).chunks).toHaveLength(FIT);
  });

  test('drops a new chunk that is less urgent than all on disk', async () => {
    const made = rig({ limitMiB: 1, whenFull: 'drop' });
    await made.save(...chunks(FIT, { class: 2 }));
    made.source.push({ class: 3, bytes: 60 * KIB, key: 99 });
    await until(() => made.events('dropped').length === 1);
    expect(made.events('dropped')[0].key).toBe(99);
    expect(perClass(made)).toEqual([0, FIT, 0, 0]);
    expect(made.state).toBe('ready');
  });

  test('drops the oldest within one class, also one of the same transaction', async () => {
    const made = rig({ limitMiB: 1, whenFull: 'drop' });
    for (const chunk of chunks(40, { class: 4 })) made.source.push(chunk);
    await until(() => made.events('committed').length + made.events('dropped').length === 40);
    const kept = [...made.source.stored.values()].map(({ key }) => key);
    expect(kept).toEqual(Array.from({ length: FIT }, (_, i) => 40 - FIT + i));
    await made.stop();
    expect(inspect(made.directory).chunks.map(({ id }) => Number(id))).toEqual([
      ...made.source.stored.keys()
    ]);
  });

  test('drops only from a class at its own limit', async () => {
    const made = rig({ limitMiB: 64, classLimitMiB: [0, 0, 0, 1, 0, 0, 0, 0, 0], whenFull: 'drop' });
    await made.save(...chunks(5, { class: 4 }), ...chunks(FIT, { class: 3 }));
    await made.save(...chunks(1, { class: 3 }));
    expect(made.events('removed')).toMatchObject([{ class: 3 }]);
    expect(perClass(made)).toEqual([0, 0, FIT, 5]);
  });
});

test('limits dead letters separately: the oldest are dropped, counted and reported', async () => {
  const made = rig({ deadLimitMiB: 1 });
  const dead = { code: 151, reason: 'Quota exceeded' };
  await made.save(...chunks(20, { dead, bytes: 100 * KIB }));
  expect(made.store.dead).toEqual({ count: 10, bytes: 1000 * KIB });
  expect(made.store.deadRemoved).toBe(10);
  expect(made.problems.map(({ code }) => code)).toContain('DEAD_LETTERS_FULL');
  expect(made.store.usage.totalChunks).toBe(0);
  await made.stop();
  expect(inspect(made.directory).dead.map(({ id }) => id)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
});

test('shrinks the file after a backlog has drained', async () => {
  const made = rig();
  await made.save(...chunks(200));
  const rows = [...made.source.stored.keys()];
  const { database } = made.store.recovery;
  for (const row of rows.slice(0, 190)) made.source.free(row);
  await until(() => made.source.stored.size === 10);
  const before = database.pages();
  expect(before.free).toBeGreaterThan(2500);
  made.store.tick();
  made.store.tick();
  expect(database.pages().free).toBeLessThan(1024);
  expect(fs.statSync(database.file).size).toBeLessThan(6 << 20);
  await made.save({});
  await made.stop();
  expect(inspect(made.directory)).toMatchObject({ integrity: 'ok', chunks: { length: 11 } });
});

test('uses one policy for all cases', () => {
  const limits = new Limits({ limitMiB: 1, classLimitMiB: [0, 0, 0, 0, 0, 0, 0, 0, 0], whenFull: 'drop' });
  const usage = new Usage();
  expect(limits.check(usage, 3, 5 << 20)).toBe('fits');
  usage.add(2, 1, 10, 1 << 19);
  expect(limits.check(usage, 3, 1 << 20)).toBe('total');
  expect(limits.victim(usage, 1, 1 << 20)).toBe(2);
  expect(limits.victim(usage, 2, 1 << 20)).toBe(2);
  expect(limits.victim(usage, 3, 1 << 20)).toBe(0);
  expect(limits.victim(usage, 1, 2 << 20)).toBe(0);
});

test('checks options with sentences', () => {
  expect(() => checkOptions({ directory: '' }, '-')).toThrow(
    'The log needs a folder. Enter its path in the engine node.'
  );
  expect(() => checkOptions({ directory: '/x', limitMiB: 0 }, '-')).toThrow(
    /limitMiB is 0; it must be a whole number from 1/
  );
  expect(() => checkOptions({ directory: '/x', whenFull: 'panic' }, '-')).toThrow(/slow or drop/);
  expect(() => checkOptions({ directory: '/x', classLimitMiB: [1, 2] }, '-')).toThrow(/9 numbers/);
  expect(checkOptions({ directory: 'a', limitMiB: '5' }, '-')).toMatchObject({
    limitMiB: 5,
    whenFull: 'slow'
  });
});
