'use strict';
// The benchmark of overload: its sums by hand, and its short forms with real components.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { obstacle } = require('../../../bench/harness/netns');
const { describeOverload, recoverySecond } = require('../../../bench/report/overload-summary');
const { dropsOf, steady } = require('../../../bench/runs/overload-run');
const { ratios, turned } = require('../../../bench/report/pairs');
const { toolsForLimits } = require('../../fixtures/network/control-groups');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(120000);

const SHORT = [
  ...['--pin', 'none', '--loads', '200', '--seconds', '3', '--before', '3', '--after', '3', '--warmup', '1'],
  ...['--capacity-seconds', '5', '--devices', '20', '--alarm-devices', '5', '--alarm-rate', '10']
];

/**
 * Runs the command in short.
 * @param {string[]} args in addition
 * @returns {{printed: string, saved: any}}
 */
function runShort(args) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-test-'));
  try {
    const file = path.join(folder, 'out.json');
    const all = [path.join(root, 'bench', 'questions', 'overload.js'), ...SHORT, ...args, '--out', file];
    const printed = execFileSync(process.execPath, all, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe']
    });
    return { printed, saved: JSON.parse(fs.readFileSync(file, 'utf8')) };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

describe('the summary of an overload', () => {
  /** @param {number} intendedMs @param {number} ms @param {object} [more] */
  const sample = (intendedMs, ms, more) => ({
    intendedMs,
    arrivedMs: intendedMs + ms,
    alarm: false,
    historical: false,
    ...more
  });
  const times = { fromMs: 1000, surgeMs: 2000, fallMs: 4000, endMs: 9000 };

  test('counts a record at its intended time, by class', () => {
    const samples = [
      sample(500, 900), // still warming up
      sample(1500, 4),
      sample(1600, 2, { alarm: true }),
      sample(3990, 3000), // arrived after the fall, intended before it
      sample(3500, 7, { alarm: true }),
      sample(3600, 8000, { historical: true }),
      sample(4000, 5)
    ];
    const { before, overload, after } = describeOverload(samples, times, 0);
    expect(before).toMatchObject({ class1: { count: 1, max: 2 }, class3: { count: 1, p99: 4 } });
    expect(overload).toMatchObject({ class1: { count: 1, p50: 7 }, class3: { count: 2, max: 8000 } });
    expect(overload.historical).toBe(1);
    expect(after).toMatchObject({ class1: { count: 0, p99: undefined }, class3: { count: 1, max: 5 } });
  });

  test('ends in the first second after which all others are fast enough', () => {
    const slow = [3000, 900, 100, 11, 12].map((ms, second) => sample(4000 + second * 1000, ms));
    const samples = [sample(1500, 10), ...slow];
    expect(describeOverload(samples, times, 0)).toMatchObject({ boundMs: 20, recoveryS: 3 });
    expect(describeOverload(samples, times, 150)).toMatchObject({ boundMs: 150, recoveryS: 2 });
    const backlog = samples.map((each) => ({ ...each, historical: each.intendedMs >= 7000 }));
    expect(describeOverload(backlog, times, 0).recoveryS).toBeUndefined(); // nothing live arrives
  });

  test('does not relax the bound for one slow second before', () => {
    const before = [10, 12, 4000, 11].map((ms, second) => sample(1000 + second * 1000, ms));
    const later = { fromMs: 1000, surgeMs: 5000, fallMs: 7000, endMs: 9000 };
    expect(describeOverload(before, later, 0).boundMs).toBe(23);
  });

  test('does not take a fast second between slow ones for recovery', () => {
    expect(recoverySecond([900, 5, 5, 900, 5, 5, 5], 10)).toBe(4);
    expect(recoverySecond([900, 5, 900], 10)).toBeUndefined();
    expect(recoverySecond([5, undefined, 5], 10)).toBe(2);
    expect(recoverySecond([], 10)).toBeUndefined();
  });

  test('takes the capacity from a steady second', () => {
    expect(steady([10, 500, 1000, 1010, 990, 3])).toBe(1000);
  });

  test('sums drops over the classes, and omits reasons that did not occur', () => {
    expect(dropsOf({ drops: { expired: [0, 0, 1, 2], full: [0, 0, 0, 0] } })).toEqual({ expired: 3 });
    expect(dropsOf(undefined)).toEqual({});
  });
});

describe('rotating variants', () => {
  /** @param {string} variant @param {number} round @param {number | undefined} value */
  const run = (variant, round, value) => /** @type {any} */ ({ variant, round, value });
  const value = (/** @type {any} */ each) => each.value;

  test('are compared with the first of the same round', () => {
    const runs = [run('a', 0, 10), run('b', 0, 11), run('b', 1, 10), run('a', 1, 20), run('b', 2, 5)];
    expect(ratios(runs, 'b', 'a', value)).toEqual([1.1, 0.5]);
  });

  test('have no ratio with a missing or zero value', () => {
    const runs = [run('a', 0, 0), run('b', 0, 1), run('a', 1, undefined), run('b', 1, 1)];
    expect(ratios(runs, 'b', 'a', value)).toEqual([]);
  });

  test('start with another one in each round', () => {
    expect([0, 1, 2].map((round) => turned(['a', 'b'], round).join(''))).toEqual(['ab', 'ba', 'ab']);
  });
});

needs('mosquitto', 'c++').test('prints its options', () => {
  const all = [path.join(root, 'bench', 'questions', 'overload.js'), '--help'];
  const printed = execFileSync(process.execPath, all, { cwd: root, encoding: 'utf8' });
  expect(printed).toMatch(/^Usage: node bench\/.*--devices .*--out /s);
});

const withLimits = needs('mosquitto', 'c++', ...toolsForLimits());
withLimits.describe('too much load', () => {
  test('is limited in short, loses nothing, and ends', () => {
    const { printed, saved } = runShort(['--cpu', '0.25']);
    expect(printed).toContain('0.25 of a core, quota with a period of 10 ms');
    expect(printed).toMatch(/\| 200 \| /);
    const [run] = saved.runs;
    expect(run).toMatchObject({ verdict: { lost: 0 }, cleanEnd: true, arrived: { duplicates: 0 } });
    expect(run.short.throttled).toBeGreaterThan(0);
    expect(run.cores).toBeLessThan(0.32);
    expect(run.summary.overload.class1.count).toBeGreaterThan(20);
    expect(saved.capacities[0].perSecond).toBeGreaterThan(20);
  });
});

const why = obstacle();
const withLinks = needs('mosquitto', 'c++', ...(why ? [`requirements of a shaped link (${why})`] : []));
withLinks.describe('too much load for a link', () => {
  test('fills the link in short, loses nothing, and ends', () => {
    const { printed, saved } = runShort(['--link', '500kbit']);
    expect(printed).toContain('a link of 0.5 Mbit/s towards the cloud');
    const [run] = saved.runs;
    expect(run).toMatchObject({ verdict: { lost: 0 }, cleanEnd: true, arrived: { duplicates: 0 } });
    expect(run.short.linkBytes).toBeGreaterThan(0.8 * 3 * 62500);
    expect(run.short.linkBytes).toBeLessThan(1.2 * 3 * 62500);
    expect(saved.capacities[0].perSecond).toBeGreaterThan(100);
  });
});
