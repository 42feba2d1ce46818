'use strict';
// The staircase of the chapters capacity and scaling, on synthetic steps.

const {
  failure,
  isLowerBound,
  lastGood,
  limitOf,
  rates,
  startFrom
} = require('../../../bench/runs/staircase');
const { coreCount, together } = require('../../../bench/runs/staircase-run');
const { report } = require('../../../bench/chapters/capacity');
const scaling = require('../../../bench/chapters/scaling');

/** @param {number} busy part of its one core @returns {import('../../../bench/runs/staircase').Use} */
const use = (busy, of = 1) => ({ cores: busy, of, busiest: { name: 't', cores: busy / of } });

/** A good step. @param {number} rate @param {object} [more] @returns {import('../../../bench/runs/staircase').Step} */
const step = (rate, more) => {
  const messages = rate * 4;
  const counts = { meant: messages, sent: messages, acked: messages, arrived: messages, late: 0 };
  return { rate, ...counts, p99Ms: 20, system: use(0.5), harness: use(0.3), ...more };
};

describe('a step', () => {
  test('is good when all messages arrived in time', () => expect(failure(step(1000))).toBe(''));

  test.each([
    ['p99 of a second', { p99Ms: 1000 }, 'p99 1.0 s'],
    ['a backlog that was seen while it ran', { isBehind: true }, 'too few messages arrived within a second'],
    ['a message that was acknowledged and lost', { arrived: 3999 }, '1 did not arrive'],
    ['a message without its acknowledgement', { acked: 3998 }, '2 not acknowledged'],
    ['devices that send too little', { sent: 3800 }, 'the devices could not send in time'],
    ['devices that send too late', { late: 41 }, 'the devices could not send in time'],
    ['messages that were never sent', { sent: 3970, acked: 3970, arrived: 3970 }, '30 not sent']
  ])('fails by %s', (_, more, why) => expect(failure(step(1000, more))).toBe(why));

  test('needs no arrivals if the system forwards nothing', () => {
    expect(failure(step(1000, { arrived: undefined }))).toBe('');
  });
});

describe('a staircase', () => {
  test('rises by its growth', () => {
    expect(rates(1000, 1.15, 4)).toEqual([1000, 1150, 1322, 1521]);
    expect(rates(2000, 2, 3)).toEqual([2000, 4000, 8000]);
  });

  test('ends at the highest rate that the generator accepts', () => {
    expect(rates(4e6, 2, 5)).toEqual([4e6, 8e6]);
  });

  test('finds the last step before the first that failed, regardless of later steps', () => {
    const found = lastGood([step(1000), step(1150), step(1322, { p99Ms: 2500 }), step(1521)]);
    expect(found).toMatchObject({ rate: 1150, why: 'p99 2.5 s', failed: { rate: 1322 } });
  });

  test('finds nothing if the first step fails', () => {
    expect(lastGood([step(1000, { acked: 0 })])).toMatchObject({ rate: 0, good: undefined });
    expect(lastGood([])).toMatchObject({ rate: 0, failed: undefined });
  });

  test('has no limit yet after a climb to its end', () => {
    const { rate, good, failed } = lastGood([step(1000), step(1150)]);
    expect(rate).toBe(1150);
    expect(limitOf(good, failed)).toBe('not reached');
    expect(isLowerBound('not reached')).toBe(true);
  });

  test('begins below the median of the values found, or without a start value', () => {
    expect(startFrom([])).toBe(0);
    expect(startFrom([0])).toBe(0);
    expect(startFrom([1000, 0, 3000, 2000])).toBe(1200);
  });
});

describe('the limit is', () => {
  /** @param {number} system @param {number} harness */
  const failed = (system, harness, of = 1) =>
    step(1000, { system: use(system, of), harness: use(harness), p99Ms: 5000 });

  test('the system when its core is full', () => {
    expect(limitOf(step(900), failed(0.97, 0.4))).toBe('system');
  });
  test('the harness when only the harness is full', () => {
    expect(limitOf(step(900), failed(0.6, 0.98))).toBe('harness');
    expect(isLowerBound('harness')).toBe(true);
    expect(isLowerBound('system')).toBe(false);
  });
  test('neither when neither is full', () => {
    expect(limitOf(step(900), failed(0.5, 0.5))).toBe('neither');
    expect(isLowerBound('neither')).toBe(false);
  });
  test('another program when neither is full and much of the machine is used', () => {
    const stolen = step(1000, { others: 1.2, p99Ms: 5000 });
    expect(limitOf(step(900), stolen)).toBe('others');
    expect(limitOf(step(900), { ...stolen, others: 0.1 })).toBe('neither');
    expect(isLowerBound('others')).toBe(true);
  });
  test('the one that was fuller before when both are full', () => {
    const both = failed(0.99, 0.99);
    expect(limitOf(step(900, { system: use(0.8), harness: use(0.6) }), both)).toBe('system');
    expect(limitOf(step(900, { system: use(0.6), harness: use(0.8) }), both)).toBe('harness');
  });
  test('one thread that is full although cores are left', () => {
    const single = { cores: 1.2, of: 4, busiest: { name: 'MainThread', cores: 0.97 } };
    expect(limitOf(step(900), step(1000, { system: single, p99Ms: 5000 }))).toBe('system');
  });
});

describe('CPU use', () => {
  test('counts threads of a pool separately', () => {
    const none = { waiting: 0, wakesPerSecond: 0, preemptedPerSecond: 0, faultsPerSecond: 0 };
    const uses = [
      { ...none, process: 'p', name: 'pool', threads: 4, cores: 1.2 },
      { ...none, process: 'p', name: 'p', threads: 1, cores: 0.5, waiting: 0.2 }
    ];
    const busiest = { name: 'p', cores: 0.5 };
    expect(together(uses, 2)).toEqual({ cores: 1.7, of: 2, busiest });
  });
  test('is measured against the cores of a list', () => expect(coreCount('0-2,5')).toBe(4));
});

describe('the capacity report', () => {
  /** @param {string} key @param {number} round @param {number} rate @param {string} limit */
  const outcome = (key, round, rate, limit) => ({
    chapter: 'capacity',
    key,
    round,
    result: { rate, limit, why: 'p99 2.0 s', good: step(rate), failed: step(rate * 1.15, { p99Ms: 2000 }) }
  });
  const peer = [outcome('nodered', 0, 5000, 'system'), outcome('nodered', 1, 6000, 'system')];

  test('divides within a round, and says "at least" where the harness was the limit', () => {
    const own = [0, 1].map((round) => outcome('seganet-adaptive', round, 60000, 'harness'));
    const { markdown, ratios, warnings } = report([...own, ...peer], /** @type {any} */ ({}));
    expect(markdown).toContain('| seganet-adaptive | ≥ 60000 |');
    expect(markdown).toContain('| nodered | 5500 [5000..6000] |');
    expect(ratios).toEqual([
      {
        name: 'capacity, seganet-adaptive / nodered (at least)',
        target: '≥ 10',
        median: 11,
        low: 10,
        high: 12
      }
    ]);
    expect(warnings).toEqual([expect.stringContaining('seganet-adaptive did not reach its own limit')]);
  });

  test('does not say "at least" when the peer could do more too', () => {
    const bounded = peer.map((each) => ({ ...each, result: { ...each.result, limit: 'harness' } }));
    const own = [
      outcome('seganet-adaptive', 0, 60000, 'harness'),
      outcome('seganet-adaptive', 1, 60000, 'system')
    ];
    const { ratios, warnings } = report([...own, ...bounded], /** @type {any} */ ({}));
    expect(ratios[0].name).toBe('capacity, seganet-adaptive / nodered');
    expect(warnings).toEqual([expect.stringContaining('ratios to it are too high')]);
  });

  test('reports a round in which nothing was good', () => {
    const { warnings } = report([outcome('bare', 0, 0, 'neither')], /** @type {any} */ ({}));
    expect(warnings).toEqual(['The first step of bare failed in a round.']);
  });

  test('is empty without results', () => expect(report([], /** @type {any} */ ({})).ratios).toEqual([]));
});

describe('scaling', () => {
  test('takes one worker, two, four and so on up to the cores', () => {
    expect(scaling.workerCounts(1)).toEqual([1]);
    expect(scaling.workerCounts(2)).toEqual([1, 2]);
    expect(scaling.workerCounts(6)).toEqual([1, 2, 4, 6]);
  });

  test('says plainly which additions do not help', () => {
    /** @param {number[]} found @param {any} limit @returns {any[]} */
    const values = (found, limit) =>
      found.flatMap((rate, round) => [
        { variant: 'a', round, rate: 1000, limit, microseconds: 10 },
        { variant: 'b', round, rate, limit, microseconds: 10 }
      ]);
    /** @param {number[]} found @param {any} [limit] */
    const logged = (found, limit = 'system') => scaling.verdict('Pinning', values(found, limit), 'b', 'a');
    expect(logged([1020, 990, 1010])).toBe(
      'Pinning does not help here: × 1.01 [0.99..1.02] in messages per second.'
    );
    expect(logged([1400])).toMatch(/^Pinning helps here/);
    expect(logged([700])).toMatch(/^Pinning costs more than it brings here/);
    expect(logged([])).toBe('Pinning: not measured.');
    // Twice the messages are not conclusive where the gateway was not the limit.
    expect(logged([2000], 'harness')).toBe(
      'Pinning does not help here (the gateway was not the limit): × 1.00 in CPU per message.'
    );
  });

  test('calls a full machine the limit of the harness, although neither side fills it alone', () => {
    const full = step(1000, { system: use(1.1, 2), harness: use(0.8, 2), p99Ms: 5000 });
    full.harness = { cores: 0.8, of: 2, busiest: { name: 'loadgen', cores: 0.5 } };
    expect(scaling.limitShared(step(900), full, 2)).toBe('harness');
    const idle = step(1000, { system: use(0.4, 2), harness: use(0.4, 2), p99Ms: 5000 });
    expect(scaling.limitShared(step(900), idle, 2)).toBe('neither');
  });

  test('compares variants of a round, and names the harness', () => {
    /** @param {string} key @param {number} rate */
    const outcome = (key, rate) => ({
      chapter: 'scaling',
      key,
      round: 0,
      result: { rate, good: step(rate), limit: 'harness', microseconds: 10, harnessShare: 0.4 }
    });
    const outcomes = [
      outcome('1 worker, pinned', 1000),
      outcome('1 worker, not pinned', 1000),
      outcome('2 workers, pinned', 1010)
    ];
    const { markdown, ratios } = scaling.report(outcomes, /** @type {any} */ ({}));
    expect(markdown).toContain('| 2 workers, pinned | ≥ 1010 | 10.0 | 0.50 | 40 | harness |');
    expect(markdown).toContain('2 workers instead of one (pinned) does not help here');
    expect(markdown).toContain('Pinning 2 workers: not measured.');
    expect(ratios.map(({ median }) => median)).toEqual([1.01, 1, 1, 1]);
  });
});
