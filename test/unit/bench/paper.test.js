'use strict';
// The chapter paper: its runs under a baseline's quota, on synthetic results.

const { CpuLimit } = require('../../../bench/harness/cpu-limit');
const chapter = require('../../../bench/chapters/paper');
const {
  calibrationKey,
  calibrationQuota,
  delivered,
  needOf,
  periodFor,
  quotaFor,
  quotaLoad
} = require('../../../bench/runs/under-quota');
const { planOf, resultOf } = require('../../fixtures/bench/synthetic');

const plan = planOf({ systems: ['seganet-paper', 'agents'] });
const load = '64 devices';
const under = quotaLoad(load, 'agents');

/**
 * A synthetic result of measureWithin(): 640 messages a second were intended.
 * @param {object} of @param {number} [of.cores] @param {number} [of.p99] ms @param {number} [of.perSecond] that arrived
 * @param {{cores: number, of: number}} [of.given]
 */
function measured({ cores = 0.01, p99 = 10, perSecond = 640, given }) {
  const us = p99 * 1000;
  const arrived = {
    // All of it in the warm-up, and the messages that waited after the quota was lifted.
    arrivalsPerSecond: [640, 640, ...Array(10).fill(perSecond), 9999],
    classes: { 3: { latencyUs: { count: 100, p50: us / 2, p90: us, p99: us, p999: us, max: us } } }
  };
  return {
    ...resultOf(cores, arrived),
    warmup: 2,
    sent: { sent: 7680, acked: 7680, late: 0, offered: 640 },
    ...(given && { quota: { ...given, periodMs: 50, periods: 200, throttled: 150, throttledMs: 5000 } })
  };
}

/** @param {string} key @param {number} round @param {Parameters<typeof measured>[0]} of */
const run = (key, round, of) => ({ chapter: 'paper', key, round, result: measured(of) });

describe('a quota', () => {
  const plain = (/** @type {number} */ round, /** @type {number} */ cores) =>
    run(`${load}/agents`, round, { cores });
  const calibration = (/** @type {number} */ round, /** @type {number} */ perSecond) =>
    run(calibrationKey(load, 'agents'), round, { cores: 0.02, perSecond });

  test('has the shortest period in which it is 1 ms, from 10 ms on', () => {
    expect([0.5, 0.1, 0.04, 0.0145, 0.0001].map(periodFor)).toEqual([10, 10, 25, 69, 1000]);
  });

  test('counts arrivals in the measured window, not those after it was lifted', () => {
    expect(delivered(measured({ perSecond: 320 }))).toBe(0.5);
  });

  test('is a part of the cost of the whole load for a baseline that is always busy', () => {
    // 0.02 cores for half of the messages.
    expect(needOf(measured({ cores: 0.02, perSecond: 320 }))).toBeCloseTo(0.04);
    // A run that only caught up with its warm-up did not take less.
    expect(needOf(measured({ cores: 0.02, perSecond: 700 }))).toBeCloseTo(0.02);
    const before = [calibration(0, 320), calibration(1, 160), calibration(2, 640)];
    expect(quotaFor(before, 3, load, 'agents', 0.5)).toEqual({ cores: 0.02, of: 0.04 });
  });

  test('is the same for all runs of a round', () => {
    const given = { cores: 0.015, of: 0.03 };
    const first = run(`${under}/seganet-paper`, 1, { given });
    const before = [calibration(0, 320), first, calibration(1, 64)];
    expect(quotaFor(before, 1, load, 'agents', 0.5)).toEqual(given);
    expect(quotaFor(before, 2, load, 'agents', 0.5).of).toBeCloseTo(0.12);
  });

  test("begins with a quarter of the baseline's use when it is a share of the baseline", () => {
    const taken = [plain(0, 0.08), plain(1, 0.4), plain(2, 0.1)];
    expect(calibrationQuota(taken, load, 'agents')).toEqual({ cores: 0.025, of: 0.1 });
  });

  test('is not guessed when its baseline failed', () => {
    expect(() => calibrationQuota([plain(0, 0.1)], load, 'agents-paho')).toThrow(
      'needs an earlier run of it without a quota'
    );
    const failed = { chapter: 'paper', key: calibrationKey(load, 'agents'), round: 0, error: 'no' };
    expect(() => quotaFor([failed], 0, load, 'agents', 0.5)).toThrow('its calibration failed');
  });
});

describe('the cases', () => {
  afterEach(() => jest.restoreAllMocks());
  const keys = (/** @type {object} */ more) => chapter.cases({ ...plan, ...more }).map(({ key }) => key);

  test('run under a quota after those without one, the calibration first', () => {
    jest.spyOn(CpuLimit, 'probe').mockReturnValue();
    expect(keys({}).filter((key) => key.startsWith(load))).toEqual([
      ...[`${load}/seganet-paper`, `${load}/agents`],
      ...[calibrationKey(load, 'agents'), `${under}/agents`, `${under}/seganet-paper`]
    ]);
    expect(keys({}).filter((key) => key.startsWith(quotaLoad('256 devices', 'agents')))).toEqual([]);
    expect(keys({ sizes: { devices: 5 } })).toContain(`${quotaLoad('5 devices', 'agents')}/agents`);
  });

  test('do not run without a baseline', () => {
    jest.spyOn(CpuLimit, 'probe').mockReturnValue();
    expect(keys({ systems: ['seganet-paper'] }).join()).not.toContain('quota');
  });

  test('are skipped, with the reason, without control groups', () => {
    jest.spyOn(CpuLimit, 'probe').mockImplementation(() => {
      throw new Error('A CPU limit needs control groups.');
    });
    expect(keys({}).join()).not.toContain('quota');
    expect(chapter.lacking?.(plan)).toContainEqual({
      label: "the runs under a baseline's quota",
      why: 'A CPU limit needs control groups.'
    });
  });
});

describe('the report', () => {
  const given = { cores: 0.02, of: 0.04 };
  const plain = [
    run(`${load}/agents`, 0, { cores: 0.1, p99: 1 }),
    run(`${load}/seganet-paper`, 0, { cores: 0.02, p99: 20 })
  ];
  const limited = (/** @type {number} */ perSecond) => [
    run(calibrationKey(load, 'agents'), 0, { given: { cores: 0.025, of: 0.1 }, perSecond: 200 }),
    run(`${under}/agents`, 0, { given, cores: 0.02, p99: 4000, perSecond }),
    run(`${under}/seganet-paper`, 0, { given, cores: 0.018, p99: 100 })
  ];
  const ratioOf = (
    /** @type {import('../../../bench/options/chapter').Section} */ section,
    /** @type {RegExp} */ name
  ) => section.ratios.find((each) => name.test(each.name));

  test("has the paper's factor for the runs in which the baseline is saturated", () => {
    const section = chapter.report([...plain, ...limited(320)], plan);
    expect(ratioOf(section, /^CPU saved/)).toMatchObject({ median: 0.8, target: '≥ 0.776' });
    expect(ratioOf(section, /^p99 improvement factor, paper/)).toMatchObject({
      median: 0.05,
      target: undefined
    });
    expect(ratioOf(section, /^p99 improvement factor, quota of agents/)).toMatchObject({
      median: 40,
      target: '≥ 16.7'
    });
    expect(ratioOf(section, /^came through/)).toMatchObject({ median: 2 });
    expect(section.markdown).toContain('0.50 of the 0.040 cores that agents needs');
    expect(section.markdown).toContain('agents fell behind');
    expect(section.markdown).toMatch(/an agent per device \(C\+\+\) \| 0\.020 \| 0\.020 \| 50\.0 \| 320 \|/);
    expect(section.markdown).toContain('a period of 50 ms');
  });

  test('reports that the baseline kept up', () => {
    const { markdown } = chapter.report([...plain, ...limited(640)], plan);
    expect(markdown).toContain("was not saturated like the paper's");
    expect(markdown).not.toContain('agents fell behind');
  });

  test('keeps the factor and omits the table without saturated runs', () => {
    const section = chapter.report(plain, plan);
    expect(ratioOf(section, /^p99 improvement factor/)).toMatchObject({ median: 0.05, target: '≥ 16.7' });
    expect(section.markdown).not.toContain('each system with the quota of');
  });
});
