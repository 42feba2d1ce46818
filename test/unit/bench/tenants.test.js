'use strict';
// The chapter tenants: its criteria and its report, on synthetic results.

const chapter = require('../../../bench/chapters/tenants');
const { commandOf } = require('../../../bench/report/criteria');
const { readDirectory, testCommand } = require('../../../bench/tenants/commands');
const { set } = require('../../../bench/tenants/criteria');
const { planOf } = require('../../fixtures/bench/synthetic');

const { criteria } = set;

const plan = planOf({
  rounds: 2,
  seconds: 5,
  warmup: 1,
  openFiles: 1024,
  minutes: 1,
  driver: 'process',
  tests: false
});
const MB = 1e6;
const weight = (/** @type {number} */ mb) => ({ rss: 2 * mb * MB, pss: mb * MB, private: mb * MB });

/** @param {string} key @param {any[]} results */
const rounds = (key, ...results) =>
  results.map((result, round) => ({ chapter: 'tenants', key, round, result }));

/** @param {number} primes @param {number} udp */
const work = (primes, udp) => ({
  primes: { 1: primes, 2: 2 * primes, 4: 2 * primes },
  copies: { memcpy: 100, dumb: 10, mcblock: 50 },
  write: 500,
  udp: { server: udp, client: 2, arrived: 1 }
});

/** @param {any[]} outcomes */
const ratiosOf = (outcomes) =>
  Object.fromEntries(chapter.report(outcomes, plan).ratios.map(({ name, ...rest }) => [name, rest]));

test('has the twenty criteria, each with a limit and a command', () => {
  expect(criteria.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  for (const criterion of criteria) {
    expect(criterion.limit).not.toBe('');
    expect(commandOf(set, criterion)).not.toBe('');
    expect(criterion.figures.some(({ target }) => target)).toBe(true);
  }
  expect(testCommand(20)).toContain('container-drivers.test.js');
  expect(testCommand(99)).toBe('');
});

test('compares the container with the native program of the same round', () => {
  const one = {
    engine: 'docker',
    native: [work(100, 2)],
    limited: [work(99, 2)],
    container: [work(98, 2.2)],
    changes: 0
  };
  const two = {
    engine: 'docker',
    native: [work(50, 2)],
    limited: [work(50, 2)],
    container: [work(50, 3)],
    changes: 2
  };
  const found = ratiosOf(rounds('containers', one, two));
  expect(found['2: primes, 1 at once, container ÷ native']).toMatchObject({
    low: 0.98,
    high: 1,
    target: '≥ 0.97'
  });
  expect(found['4: CPU as a server, container ÷ native'].high).toBe(1.5);
  expect(found['3: changed files in the layer']).toMatchObject({ low: 0, high: 2 });
});

test('counts the memory of a sleeping tenant as the growth of front and keeper', () => {
  const result = {
    running: [weight(80), weight(90)],
    front: weight(100),
    keeper: weight(30),
    more: 200,
    frontWithMore: weight(104),
    keeperWithMore: weight(31)
  };
  const found = ratiosOf(rounds('memory', result));
  expect(found['10: running, MB'].median).toBeCloseTo(85);
  expect(found['10: sleeping, MB'].median).toBeCloseTo(5 / 200);
  expect(found['10: all, PSS, MB'].median).toBeCloseTo(300);
});

test('reports each criterion, what was not run, and warns of losses', () => {
  const wake = { puback: [3, 4], arrived: [1300, 1400], acknowledged: [1310, 1410], losses: 1 };
  const outcomes = [
    ...rounds('wake', wake, { ...wake, losses: 0 }),
    ...rounds('series', { perSecond: 300000, bytes: 18.5, dayMs: 3 }, { isLeftOut: true }),
    ...rounds('idle', { stopLate: [5], pauseLate: [6], rests: ['page stopped'], losses: 0 }),
    ...rounds('test-20', { passed: 40, failed: 0, skipped: 1, seconds: 30 })
  ];
  const { markdown, warnings } = chapter.report(outcomes, plan);
  const rows = markdown.split('\n').filter((line) => /^\| \d+ \|/.test(line));
  expect(rows).toHaveLength(20);
  expect(rows[4]).toContain('PUBACK p99, ms: 4');
  expect(rows[4]).toContain('`seganet-bench --only tenants --systems wake`');
  expect(rows[6]).toContain('not run');
  expect(rows[18]).toContain('points/s: 300000<br>');
  expect(rows[19]).toContain('passed: 40<br>skipped: 1');
  expect(warnings).toEqual([
    'wake, round 1: 1 connections of devices were lost.',
    'idle, round 1: tenants with work rested: page stopped.',
    'test-20, round 1: 1 tests were skipped, so criterion 20 is not proven.'
  ]);
});

test('counts a skipped test as not met, and measures what attacks cost a neighbor', () => {
  const attack = (/** @type {string} */ name, /** @type {number} */ p99) => ({
    attack: name,
    alone: { arrived: { count: 100, p50: 1, p99: 2 }, puback: { count: 100, p50: 1, p99: 4 } },
    beside: { arrived: { count: 90, p50: 2, p99 }, puback: { count: 90, p50: 2, p99 } }
  });
  const outcomes = [
    ...rounds('test-14', { passed: 9, failed: 0, skipped: 3, seconds: 30 }),
    ...rounds('neighbors', [attack('loop', 3), attack('fork', 5)], [attack('loop', 4), attack('fork', 6)])
  ];
  const found = ratiosOf(outcomes);
  expect(found['14: tests failed or skipped']).toMatchObject({ target: '≤ 0', median: 3 });
  expect(found['14: in the tenant, p99 beside loop ÷ alone']).toMatchObject({
    target: '≤ 2',
    low: 1.5,
    high: 2
  });
  expect(found['14: PUBACK, p99 beside loop ÷ alone']).toMatchObject({ target: '≤ 2', low: 0.75, high: 1 });
  expect(found['14: in the tenant, p99 beside fork ÷ alone']).toMatchObject({ low: 2.5, high: 3 });
  expect(found['14: in the tenant, p99 beside disk ÷ alone']).toBeUndefined();
  const { markdown } = chapter.report(outcomes, plan);
  const row = markdown.split('\n').find((line) => line.startsWith('| 14 |'));
  expect(row).toContain('`seganet-bench --only tenants --systems neighbors`');
  expect(row).toContain('in the tenant, p99 beside loop ÷ alone: ');
  expect(row).toContain('skipped: 3');
});

test('reads the figures of the directory', () => {
  const text = [
    '1000 things made in 150 ms',
    '  humidity of room 105, of 5                   p50 0.62 ms  p99 1.10 ms',
    '  the same, the device is asked                p50 0.70 ms  p99 1.20 ms',
    '  humidity of any room                         p50 9.00 ms  p99 9.90 ms',
    '10000 things made in 1500 ms',
    '  humidity of room 105, of 50                  p50 3.20 ms  p99 60.00 ms'
  ].join('\n');
  const stored = { 1000: { p50: 0.62, p99: 1.1 }, 10000: { p50: 3.2, p99: 60 } };
  const result = readDirectory(text);
  expect(result).toEqual({ stored, asked: { 1000: { p50: 0.7, p99: 1.2 } } });
  const found = ratiosOf(rounds('directory', { ...result, text }));
  expect(found['17: 10,000 things: p99, ms']).toMatchObject({ median: 60, target: '≤ 50' });
  expect(found['17: 10,000 things, a device asked: p99, ms']).toBeUndefined();
});

test('runs the parts that are chosen, and the large and the tests only on request', () => {
  const keys = (/** @type {object} */ more) => chapter.cases({ ...plan, ...more }).map(({ key }) => key);
  expect(keys({ systems: ['pages'] })).toEqual(['pages-stopped', 'pages-paused']);
  for (const extra of ['scale', 'neighbors']) expect(keys({})).not.toContain(extra);
  expect(keys({ systems: ['scale', 'wake'] })).toContain('wake');
  expect(keys({ systems: ['wake'], tests: true })).toEqual(expect.arrayContaining(['wake', 'test-20']));
});
