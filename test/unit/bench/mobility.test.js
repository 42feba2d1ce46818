'use strict';
// The radio model and the ways of bench/questions/mobility.js, and what it says about a run.

const { wirelessOf } = require('../../../bench/mobility/drive');
const { csv, plot, table, verdicts } = require('../../../bench/mobility/findings');
const { MCS, MODEL, Shadowing, meanDbm, rateOf } = require('../../../bench/mobility/signal');
const { placeAt, summaryOf, traceOf } = require('../../../bench/mobility/walk');
const { parseWireless } = require('../../../nodes/lib/network/paths/wireless');

/** @type {import('../../../bench/mobility/walk').Walk} */
const walk = { seed: 1, points: 4, seconds: 60, second: 'wifi', roamMs: 300 };

describe('the radio model', () => {
  test('loses 30 dB for each tenfold distance', () => {
    expect(meanDbm(1)).toBeCloseTo(MODEL.powerDbm - MODEL.lossAt1mDb);
    expect(meanDbm(10) - meanDbm(100)).toBeCloseTo(30);
    expect(meanDbm(0.1)).toBe(meanDbm(1));
  });

  test('has the rate of the best MCS that the signal allows, and none below the lowest', () => {
    for (const [dbm, mbit] of MCS) expect(rateOf(dbm)).toBeCloseTo((mbit * 47.1) / 65);
    expect(rateOf(-64.1)).toBe(rateOf(-65));
    expect(rateOf(-30)).toBeCloseTo(47.1);
    expect(rateOf(-82.1)).toBe(0);
  });

  test('has shadowing of the wanted spread, correlated over a room', () => {
    const [near, far] = [0.1, 60].map((step) => {
      const shadow = new Shadowing(7);
      return Array.from({ length: 4000 }, () => shadow.after(step));
    });
    const mean = (/** @type {number[]} */ all) => all.reduce((sum, value) => sum + value, 0) / all.length;
    const spread = Math.sqrt(mean(far.map((value) => (value - mean(far)) ** 2)));
    expect(Math.abs(mean(far))).toBeLessThan(0.5);
    expect(spread).toBeGreaterThan(6.5);
    expect(spread).toBeLessThan(7.5);
    const change = (/** @type {number[]} */ all) =>
      mean(all.slice(1).map((value, i) => Math.abs(value - all[i])));
    expect(change(near)).toBeLessThan(change(far) / 4);
  });
});

describe('the way', () => {
  test('leads to the end of the corridor and back', () => {
    expect([0, 15000, 30000, 45000, 60000].map((ms) => placeAt(ms, 60))).toEqual([0, 40, 80, 40, 0]);
  });

  test('is the same for the same seed, and another one for another', () => {
    expect(traceOf(walk)).toEqual(traceOf(walk));
    expect(traceOf({ ...walk, seed: 2 })).not.toEqual(traceOf(walk));
  });

  test('gives each radio its own access points, and lets nothing pass in a hand-over', () => {
    const steps = traceOf({ ...walk, seconds: 120 });
    for (const { links } of steps) {
      expect(links[0].point % 2).toBe(0);
      expect(links[1].point % 2).toBe(1);
      for (const { isRoaming, mbit } of links) if (isRoaming) expect(mbit).toBe(0);
    }
    const { roams, none } = summaryOf(steps);
    expect(roams).toBeGreaterThanOrEqual(4);
    expect(none).toBeLessThan(1);
    // 300 ms each.
    const roaming = steps.flatMap(({ links }) => links).filter(({ isRoaming }) => isRoaming).length;
    expect(roaming).toBe(3 * roams);
  });

  test('with two access points has no hand-over, but links without signal, as in the paper', () => {
    for (const seed of [1, 2, 3]) {
      const { dead, none, roams } = summaryOf(traceOf({ ...walk, seed, points: 2 }));
      expect(roams).toBe(0);
      expect(Math.min(...dead)).toBeGreaterThan(1);
      expect(none).toBeLessThan(2);
    }
  });

  test('with LTE has a second link that is the same everywhere', () => {
    const steps = traceOf({ ...walk, points: 3, second: 'lte' });
    expect(new Set(steps.map(({ links }) => links[1].mbit))).toEqual(new Set([10]));
    expect(new Set(steps.map(({ links }) => links[0].point)).size).toBeGreaterThan(1);
  });
});

test('writes signals as the kernel does', () => {
  const link = { dbm: -61.4, mbit: 40, point: 0, isRoaming: false };
  const read = (/** @type {any} */ ...links) => Object.fromEntries(parseWireless(wirelessOf(links)));
  expect(read(link, { ...link, dbm: -79.6 })).toEqual({ p1: -61, p2: -80 });
  expect(read({ ...link, isRoaming: true }, { ...link, dbm: -99 })).toEqual({ p1: null, p2: null });
  expect(read(link, { ...link, dbm: NaN })).toEqual({ p1: -61 });
});

describe('the findings', () => {
  const steps = traceOf({ ...walk, seconds: 10 });
  /** @param {string} name @param {number} mbit @param {object} [more] */
  const outcome = (name, mbit, more = {}) => ({
    scenario: 'roam',
    name,
    round: 0,
    seed: 1,
    steps,
    result: {
      warmup: 2,
      goodput: [0, 0, ...Array(8).fill(mbit)],
      zeroSeconds: [],
      gapMs: { 1: 120, 3: 250 },
      classes: { 1: { p99: 12 }, 3: { p99: 900 } },
      connects: { 'gw-1': 1, 'gw-3': 1 },
      lost: 0,
      duplicated: 0,
      ...more
    }
  });
  const outcomes = [
    outcome('tcp1', 20, { zeroSeconds: [4, 5], connects: { 'gw-1': 3 } }),
    outcome('tcp2', 30),
    outcome('kernel', 10, { lost: 4 }),
    outcome('backup', 35),
    outcome('forecast', 25, { lost: 1, connects: { 'gw-1': 2 } })
  ];

  test('are a row for each system', () => {
    expect(table(outcomes, 'roam')).toContain('| TCP1 | 20.0 |');
    expect(table(outcomes, 'roam')).toMatch(/\| MPTCP backup, watch \| 35.0 \| \d+ \| 0 \| 0.12 \| 0.25 \|/);
    expect(table(outcomes, 'lte')).not.toContain('TCP1');
  });

  test('judge the systems with a watch, also against the better single link', () => {
    expect(verdicts(outcomes, 'roam').map(({ measured, met }) => [measured, met])).toEqual([
      ['0, 0, 0', true],
      ['35.0', true],
      ['1, 1, 0', false],
      ['25.0', false]
    ]);
  });

  test('are rows of seconds, and a plot, with what the links could carry', () => {
    const [head, first] = csv(outcomes).split('\n');
    expect(head).toBe(
      'second,first link can,second link can,TCP1,TCP2,MPTCP backup kernel alone,MPTCP backup watch,roles by forecast watch'
    );
    expect(first.split(',').length).toBe(8);
    expect(csv(outcomes).trim().split('\n').length).toBe(11);
    expect(plot(outcomes)).toContain('<svg');
  });
});
