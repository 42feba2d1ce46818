'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { list } = require('../../../nodes/lib/series/series-reader');
const { FUTURE_MS } = require('../../../nodes/lib/series/series-store');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { HOUR_MS, START, batchOf, rigs } = require('../../fixtures/series/series-rig');
const { seeded } = require('../../fixtures/random');

const DAY_MS = 24 * HOUR_MS;
const rig = rigs();

const latestOf = async (at) => {
  const page = { device: '', name: '', contains: '', after: 0, limit: 100, withValues: true };
  return (await list(at.store, page)).series;
};

describe('points', () => {
  test('are in the answers at once, after their block is written, after their hour is merged, and after a restart', async () => {
    const at = rig();
    const expected = [];
    for (let i = 0; i < 200; i++) {
      at.put({ temp: i / 4 });
      expected.push([at.now, i / 4]);
      at.pass(20000);
      if (i % 50 === 49) expect([...(await at.rows())]).toEqual(expected);
      at.store.tick();
    }
    expect(at.store.counters.blocks).toBeGreaterThan(50);
    at.store.retention.runAll();
    expect(at.store.retention.counters.hours).toBe(1);
    expect([...(await at.rows())]).toEqual(expected);
    at.reopen();
    expect([...(await at.rows())]).toEqual(expected);
    expect(await latestOf(at)).toEqual([
      { device: 'pump-1', name: 'temp', ts: expected[199][0], value: 49.75 }
    ]);
  });

  test('that are late, doubled or out of order take their place; the last of the same time stays', async () => {
    const at = rig();
    const times = [5000, 1000, 5000, 70000, 3000, 3000].map((ms) => START + ms);
    at.pass(100000);
    times.forEach((ts, i) => at.put({ temp: i }, ts));
    const expected = [
      [times[1], 1],
      [times[4], 5],
      [times[2], 2],
      [times[3], 3]
    ];
    expect([...(await at.rows())]).toEqual(expected);
    at.store.flush(true);
    // Into a block that is written, then into an hour that is merged.
    at.put({ temp: 6 }, START + 2000);
    at.pass(2 * HOUR_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    at.put({ temp: 7 }, START + 4000);
    at.put({ temp: 8 }, START + 5000);
    const all = [
      [times[1], 1],
      [START + 2000, 6],
      [times[4], 5],
      [START + 4000, 7],
      [times[2], 8],
      [times[3], 3]
    ];
    expect([...(await at.rows())]).toEqual(all);
    at.store.flush(true);
    at.store.retention.runAll();
    expect([...(await at.rows())]).toEqual(all);
    expect(at.store.counters).toMatchObject({ doubled: 3, outOfOrder: 6 });
    const means = (await at.rows({ step: HOUR_MS })).columns;
    expect(means).toEqual({ ts: [START], value: [30 / 6], low: [1], high: [8], count: [6] });
    expect((await latestOf(at))[0]).toMatchObject({ value: 3 });
  });

  test('equal those of a map after random puts, flushes, merges, restarts and crashes', async () => {
    const seed = Date.now() % 1e9;
    const random = seeded(seed);
    const at = rig({ maxPoints: 1000 });
    const expected = new Map();
    for (let i = 0; i < 150; i++) {
      const ts = at.now - (random.integer(4) === 0 ? random.integer(3 * HOUR_MS) : 0);
      const value = random.integer(1000) / 8;
      at.put({ temp: value }, ts);
      expected.set(ts, value);
      at.pass(random.integer(120000));
      const what = random.integer(40);
      if (what < 10) at.store.tick();
      else if (what === 10) at.store.retention.runAll();
      else if (what === 11) at.reopen();
      else if (what === 12) at.crash();
      else if (what === 13) at.store.flush(true);
    }
    const rows = [...(await at.rows())];
    const sorted = [...expected].sort(([a], [b]) => a - b);
    if (JSON.stringify(rows) !== JSON.stringify(sorted)) throw new Error(`seed ${seed}`);
    expect(at.problems).toEqual([]);
  });

  test('without a time get the clock of the gateway, and those far ahead of it are refused and counted', async () => {
    const at = rig();
    at.put({ temp: 1 }, 0);
    at.put({ temp: 2 }, START + FUTURE_MS + 1);
    at.put({ temp: 3 }, START + FUTURE_MS);
    expect([...(await at.rows())]).toEqual([
      [START, 1],
      [START + FUTURE_MS, 3]
    ]);
    expect(at.store.counters.future).toBe(1);
  });

  test('of a clock that was ahead do not stay the latest value', async () => {
    const at = rig();
    at.now = START + 365 * DAY_MS;
    at.put({ temp: 1 });
    at.now = START;
    at.put({ temp: 2 });
    expect((await latestOf(at))[0]).toMatchObject({ ts: START, value: 2 });
  });
});

describe('names and devices with lone surrogates', () => {
  test('are those of U+FFFD, and fail no record of others, also after a restart', async () => {
    const at = rig();
    const batches = (value) => [
      batchOf({ device: 'a', ts: at.now, numbers: { '\ud800': value, '\ud801': value } }),
      batchOf({ device: '\udc00', ts: at.now, numbers: { x: value } }),
      batchOf({ device: 'b', ts: at.now, numbers: { x: value } })
    ];
    at.store.put(batches(1));
    at.reopen();
    at.pass(1000);
    at.store.put(batches(2));
    expect((await latestOf(at)).map(({ device, name, value }) => [device, name, value])).toEqual([
      ['a', '\ufffd', 2],
      ['\ufffd', 'x', 2],
      ['b', 'x', 2]
    ]);
    expect([at.store.reason, at.problems]).toEqual(['', []]);
  });

  test('keep their points when a name is in the table, but not in memory', async () => {
    const at = rig();
    at.store.database.db.exec("INSERT INTO series (device, name) VALUES ('a', 'x')");
    at.put({ x: 1, y: 2 }, at.now, 'a');
    expect((await latestOf(at)).map(({ name, value }) => [name, value])).toEqual([
      ['x', 1],
      ['y', 2]
    ]);
  });
});

describe('the limits', () => {
  test('refuse and count points of more series than allowed; the others are stored', async () => {
    const at = rig({ maxSeries: 3 });
    at.put({ a: 1, b: 2, c: 3, d: 4 });
    at.put({ a: 5, e: 6 });
    expect((await latestOf(at)).map(({ name, value }) => [name, value])).toEqual([
      ['a', 5],
      ['b', 2],
      ['c', 3]
    ]);
    expect(at.store.counters.noSeries).toBe(2);
  });

  test('write open blocks early when too many points are in memory', async () => {
    const at = rig({ maxPoints: 1000 });
    for (let i = 0; i < 3000; i += 100) {
      const records = Array.from({ length: 100 }, (_, j) => ({
        device: 'pump-1',
        ts: START + (i + j) * 100,
        numbers: { temp: i + j }
      }));
      at.store.put(records.map(batchOf));
    }
    expect(at.store.open.points).toBeLessThanOrEqual(1000);
    expect(await at.rows()).toHaveLength(3000);
  });

  test('refuse records with a sentence when the database is full of present data, and continue later', () => {
    const at = rig({ limitMiB: 1 });
    const random = seeded(5);
    const fill = () => {
      const numbers = Object.fromEntries(
        Array.from({ length: 900 }, (_, i) => [`n${i}`, random.bytes(4).readInt32LE() / 3])
      );
      at.put(numbers);
      at.pass(1000);
    };
    for (let i = 0; i < 140; i++) fill();
    at.store.flush(true);
    at.store.retention.runAll();
    expect(() => fill()).toThrow(/limit of 1 MiB.*Raise the limit/);
    at.pass(3 * HOUR_MS);
    at.store.retention.runAll();
    fill();
    expect(at.store.retention.bytes).toBeLessThanOrEqual(1 << 20);
    expect(at.store.retention.counters.expiredHours).toBeGreaterThan(0);
  });
});

describe('the retention', () => {
  test('deletes points by age and keeps hourly means, then deletes those', async () => {
    const at = rig({ days: 2, meansDays: 10 });
    for (let i = 0; i < 48; i++) {
      at.put({ temp: i, hum: 2 * i });
      at.pass(HOUR_MS / 2);
      at.store.tick();
    }
    at.pass(DAY_MS + 12 * HOUR_MS);
    at.store.retention.runAll();
    const kept = await at.rows();
    expect(kept).toHaveLength(24);
    expect(kept[0][0]).toBeGreaterThanOrEqual(at.now - 2 * DAY_MS - HOUR_MS);
    const { columns } = await at.rows({ step: HOUR_MS });
    expect([columns.ts.length, columns.value[0], columns.low[0], columns.high[0], columns.count[0]]).toEqual([
      24, 0.5, 0, 1, 2
    ]);
    expect((await at.rows({ step: 60000 })).columns.ts).toHaveLength(12 + 24);

    at.put({ temp: 1 }, START + 1000);
    expect(at.store.counters.old).toBe(1);
    for (let day = 0; day < 10; day++) {
      at.pass(DAY_MS);
      at.store.retention.runAll();
    }
    expect((await at.rows({ step: HOUR_MS })).columns.ts).toEqual([]);
    // The names are free again.
    expect(await latestOf(at)).toEqual([]);
  });

  test('keeps no means if their days are 0', async () => {
    const at = rig({ days: 1, meansDays: 0 });
    at.put({ temp: 1 });
    at.pass(3 * DAY_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    expect((await at.rows({ step: HOUR_MS })).columns.ts).toEqual([]);
  });

  test.each([300 * DAY_MS, -300 * DAY_MS])(
    'deletes nothing by age for an hour after the clock jumped by %p ms',
    async (jump) => {
      const at = rig({ days: 30 });
      at.put({ temp: 1 });
      at.pass(2 * HOUR_MS);
      at.store.tick();
      at.now += jump;
      at.pass(60000);
      at.store.retention.runAll();
      expect(at.problems.join()).toMatch(/clock of the gateway jumped/);
      at.now -= jump;
      at.pass(61 * 60000);
      at.store.retention.runAll();
      at.pass(DAY_MS / 24);
      at.store.retention.runAll();
      expect(await at.rows()).toHaveLength(1);
    }
  );

  test('deletes nothing by age for an hour after a start whose clock is far from the last one', async () => {
    const at = rig({ days: 30 });
    at.put({ temp: 1 });
    at.store.flush(true);
    at.store.retention.runAll();
    at.now += 400 * DAY_MS;
    at.reopen();
    at.store.retention.runAll();
    expect(await at.rows()).toHaveLength(1);
    at.pass(HOUR_MS + 60000);
    at.store.retention.runAll();
    expect(await at.rows()).toHaveLength(0);
  });
});

describe('a failure', () => {
  test('of the database sets it aside with a sentence, keeps what is in memory, and continues', async () => {
    const at = rig();
    at.put({ temp: 1 });
    at.store.close();
    const file = path.join(at.directory, 'series.db');
    const bytes = fs.readFileSync(file);
    bytes.fill(0x5a, 0, 4096);
    fs.writeFileSync(file, bytes);
    at.open();
    expect(at.problems.join()).toMatch(/were damaged. The database was renamed to .*series.db.damaged-/);
    at.put({ temp: 2 }, at.now + 1);
    expect([...(await at.rows())]).toEqual([[START + 1, 2]]);
    expect(fs.readdirSync(at.directory).some((name) => name.startsWith('series.db.damaged-'))).toBe(true);
  });

  test('of the database while it is in use loses no point that is in memory', async () => {
    const at = rig();
    at.put({ temp: 1 });
    at.put({ temp: 9 }, START, 'pump-2');
    at.store.fault(Object.assign(new Error('malformed'), { code: 'ERR_SQLITE_ERROR', errcode: 11 }));
    expect(at.store.reason).toBe('');
    at.put({ temp: 2 }, START + 1);
    const expected = [
      [START, 1],
      [START + 1, 2]
    ];
    expect([...(await at.rows())]).toEqual(expected);
    at.crash();
    expect([...(await at.rows())]).toEqual(expected);
    expect(await at.rows({}, 'temp', 'pump-2')).toHaveLength(1);
    expect(at.store.counters.setAside).toBe(0);
  });

  test('of a commit stores nothing of it, is reported, and the next one works when the disk does', async () => {
    const at = rig();
    at.put({ temp: 1 });
    const { database } = at.store;
    const { insertJournal } = database.statements;
    database.statements.insertJournal = {
      get: () => {
        throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
      }
    };
    expect(() => at.put({ temp: 2, other: 3 }, START + 1)).toThrow(/The disk of the series .* is full/);
    expect(() => at.put({ temp: 2 }, START + 1)).toThrow(/is full/);
    database.statements.insertJournal = insertJournal;
    at.pass(10000);
    at.store.tick();
    at.put({ temp: 4 }, START + 2);
    expect([...(await at.rows())]).toEqual([
      [START, 1],
      [START + 2, 4]
    ]);
    expect(await latestOf(at)).toHaveLength(1);
  });

  test('of one block omits its points, with a message', async () => {
    const at = rig();
    at.put({ temp: 1 });
    at.pass(120000);
    at.put({ temp: 2 });
    at.store.close();
    const db = new DatabaseSync(path.join(at.directory, 'series.db'));
    db.exec("UPDATE minute SET body = x'0102030405060708' WHERE start = (SELECT min(start) FROM minute)");
    db.close();
    at.open();
    expect(await at.rows()).toHaveLength(1);
    expect(at.problems.join()).toMatch(/A block of the series .* is damaged/);
    at.pass(2 * HOUR_MS);
    at.store.retention.runAll();
    expect(await at.rows()).toHaveLength(1);
  });

  test('refuses a second node on one folder, and the database of another program', () => {
    const at = rig();
    const second = rig({ directory: at.directory });
    expect(second.problems.join()).toMatch(/is in use by another series node/);
    expect(() => second.put({ temp: 1 })).toThrow(/is in use/);
    at.store.close();
    second.pass(10000);
    second.store.tick();
    second.put({ temp: 1 });

    const foreign = rig();
    foreign.store.close();
    const file = path.join(foreign.directory, 'series.db');
    fs.rmSync(file);
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE theirs (a)');
    db.close();
    foreign.open();
    expect(foreign.store.reason).toMatch(/database of another program; it was not changed/);
  });
});

test('records of one batch may have no numbers, and an empty commit is no error', () => {
  const at = rig();
  at.store.put([
    batchOf({ device: 'a', ts: START, numbers: {} }),
    batchOf({ device: 'a', ts: START, numbers: { x: 1 } })
  ]);
  at.store.put([batchOf({ device: 'a', ts: START, numbers: {} })]);
  expect(at.store.counters.points).toBe(1);
});
