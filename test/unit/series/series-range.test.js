'use strict';
// What a range of points or means answers, also against a plain computation.

const { Pacer } = require('../../../nodes/lib/series/pacer');
const { textOf } = require('../../../nodes/lib/series/range-text');
const { list, range } = require('../../../nodes/lib/series/series-reader');
const { HOUR_MS, START, batchOf, rigs } = require('../../fixtures/series/series-rig');
const { seeded } = require('../../fixtures/random');

const DAY_MS = 24 * HOUR_MS;
const rig = rigs();

describe('the rows of a range', () => {
  /** The means of steps, by a plain computation. @param {Map<number, number>} points by time */
  const plainMeans = (points, { from, to, step }) => {
    /** @type {Map<number, number[]>} */
    const steps = new Map();
    for (const [ts, value] of [...points].sort(([a], [b]) => a - b)) {
      if (ts < from || ts >= to) continue;
      const begin = ts - (ts % step);
      steps.set(begin, [...(steps.get(begin) ?? []), value]);
    }
    return [...steps].map(([ts, values]) => [
      ts,
      values.reduce((sum, value) => sum + value, 0) / values.length,
      Math.min(...values),
      Math.max(...values),
      values.length
    ]);
  };
  const meansOf = ({ columns: { ts, value, low, high, count } }) =>
    ts.map((at, i) => [at, value[i], low[i], high[i], count[i]]);

  test('end at the limit of rows, with the time to continue from', async () => {
    const at = rig();
    at.pass(HOUR_MS);
    for (let i = 0; i < 100; i++) at.put({ temp: i }, START + i * 1000);
    const first = await at.rows({ limit: 60 });
    expect([first.length, first.next]).toEqual([60, START + 60000]);
    expect((await at.rows({ from: first.next, limit: 60 })).next).toBeNull();
    const means = await at.rows({ limit: 3, step: 10000 });
    expect([[...means.columns.ts], means.next]).toEqual([
      [START, START + 10000, START + 20000],
      START + 30000
    ]);
  });

  test('have only points of the range in steps of whole hours, too, where it cuts hours', async () => {
    const at = rig();
    for (let i = 0; i < 240; i++) {
      at.put({ temp: i });
      at.pass(60000);
    }
    at.pass(HOUR_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    const half = { from: START + HOUR_MS / 2, to: START + 3.5 * HOUR_MS, step: HOUR_MS };
    expect(meansOf(await at.rows(half)).map(([ts, , low, high, count]) => [ts, low, high, count])).toEqual([
      [START, 30, 59, 30],
      [START + HOUR_MS, 60, 119, 60],
      [START + 2 * HOUR_MS, 120, 179, 60],
      [START + 3 * HOUR_MS, 180, 209, 30]
    ]);
  });

  test('of very many series let records be stored meanwhile, one range at a time', async () => {
    const at = rig({ maxSeries: 10000 });
    for (let i = 0; i < 10; i++)
      at.put(Object.fromEntries(Array.from({ length: 1000 }, (_, j) => [`n${i}_${j}`, j])));
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const asked = { from: START - HOUR_MS, to: START + HOUR_MS, step: 0, limit: 100000 };
    /** @type {number[]} */
    const answered = [];
    const ask = async (name) => {
      const { series } = await range(at.store, [{ device: 'pump-1', name }], asked, 60000);
      answered.push(series.length);
    };
    await Promise.all([ask(''), ask('n0_0')]);
    isOver = true;
    expect(answered).toEqual([10000, 1]);
    expect(turns).toBeGreaterThan(5);
  });

  test('that took too long continue after a step, and are refused if no step was read', async () => {
    const at = rig();
    for (let i = 0; i < 150; i++) {
      at.put({ temp: i });
      at.pass(HOUR_MS);
    }
    const ask = (asked) => range(at.store, [{ device: 'pump-1', name: 'temp' }], asked, -1);
    const whole = { from: START + 1800000, to: at.now, step: 7 * HOUR_MS, limit: 1000 };
    const expected = meansOf(await at.rows(whole));
    const found = [];
    for (let next = whole.from; next !== null;) {
      const answer = await ask({ ...whole, from: next });
      found.push(...meansOf(answer.series[0]));
      expect(answer.next === null || answer.next > next).toBe(true);
      ({ next } = answer);
    }
    expect(found).toEqual(expected);
    await expect(ask({ ...whole, step: 30 * DAY_MS })).rejects.toThrow(
      /^The first step has more points .* smaller step/
    );
  });

  test.each([60000, HOUR_MS, DAY_MS])(
    'have means that are numbers, between minimum and maximum, of values near the largest ones (step %p)',
    async (step) => {
      const at = rig();
      const large = [1.7e308, 1.7e308, -1e308, 1.7e308];
      large.forEach((value, i) => at.put({ temp: value, less: -value }, START + i));
      const read = async () => [
        (await at.rows({ step })).columns.value,
        (await at.rows({ step }, 'less')).columns.value
      ];
      const [[mean], [less]] = await read();
      expect([mean > -1e308 && mean <= 1.7e308, less >= -1.7e308 && less < 1e308]).toEqual([true, true]);
      at.pass(2 * HOUR_MS);
      at.store.flush(true);
      at.store.retention.runAll();
      expect(await read()).toEqual([[mean], [less]]);
      const equal = rig();
      for (const i of [0, 1]) equal.put({ temp: 1.7e308 }, START + i);
      expect((await equal.rows({ step })).columns.value).toEqual([1.7e308]);
    }
  );

  test('equal those of a plain computation for random points, ranges and steps', async () => {
    const seed = Date.now() % 1e9;
    const random = seeded(seed);
    const at = rig({ maxPoints: 1000 });
    const points = new Map();
    for (let i = 0; i < 400; i++) {
      const ts = at.now - (random.integer(5) === 0 ? random.integer(5 * HOUR_MS) : 0);
      // Sums of eighths are exact in any order.
      points.set(ts, random.integer(1000) / 8);
      at.put({ temp: points.get(ts) }, ts);
      at.pass(random.integer(30) === 0 ? random.integer(60 * HOUR_MS) : random.integer(400000));
      const what = random.integer(30);
      if (what < 8) at.store.tick();
      else if (what === 8) at.store.retention.runAll();
      else if (what === 9) at.reopen();
      if (i % 4 > 0) continue;
      const span = at.now - START + 2 * HOUR_MS;
      const cut = () => START - HOUR_MS + random.integer(span);
      const whole = (time) => (random.integer(3) === 0 ? time - (time % HOUR_MS) : time);
      const [from, to] = [whole(cut()), whole(cut())].sort((a, b) => a - b);
      const steps = [60000, 420000, HOUR_MS, HOUR_MS, 2 * HOUR_MS, 7 * HOUR_MS, DAY_MS];
      const asked = { from, to, step: steps[random.integer(steps.length)] };
      const found = meansOf(await at.rows(asked));
      const expected = plainMeans(points, asked);
      if (JSON.stringify(found) !== JSON.stringify(expected))
        throw new Error(`seed ${seed}: ${JSON.stringify(asked)}`);
    }
    expect(at.problems).toEqual([]);
  });
});

test('a list and the text of a range are cut into pieces, and several share the time between two commits', async () => {
  const at = rig({ maxSeries: 20000 });
  const records = Array.from({ length: 200 }, (_, i) =>
    batchOf({
      device: `device-${i}`,
      ts: START,
      numbers: Object.fromEntries(Array.from({ length: 50 }, (__, j) => [`n${j}`, j]))
    })
  );
  at.store.put(records);
  const page = { device: '', name: '', contains: 'none', after: 0, limit: 1000, withValues: true };
  const columns = {
    ts: Float64Array.from({ length: 20000 }, (_, i) => START + i),
    low: [],
    high: [],
    count: [],
    value: Float64Array.from({ length: 20000 }, (_, i) => i / 8)
  };
  const answer = { series: [{ device: 'a', name: 'b', columns }], next: null };
  let pauses = 0;
  const pacer = { pause: () => void pauses++ };
  expect(await list(at.store, page, pacer)).toEqual({ series: [], next: null });
  expect(pauses).toBe(10);
  for (const format of ['csv', 'ndjson', 'grafana']) {
    pauses = 0;
    const { text } = await textOf(answer, format, false, pacer);
    expect(pauses).toBeGreaterThanOrEqual(10);
    if (format === 'grafana') {
      const [{ target, datapoints }] = JSON.parse(text);
      expect([target, datapoints.length, datapoints[19999]]).toEqual([
        'a|b',
        20000,
        [2499.875, START + 19999]
      ]);
    } else expect(text.trim().split('\n')).toHaveLength(format === 'csv' ? 20001 : 20000);
  }
  const shared = new Pacer();
  // The first call of a slice waits for a turn, and so do all others until it has come.
  const waits = [shared.pause(), shared.pause(), shared.pause()];
  expect(new Set(waits).size).toBe(1);
  await waits[0];
  expect(shared.pause()).toBeUndefined();
});
