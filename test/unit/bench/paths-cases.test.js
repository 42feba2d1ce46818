'use strict';
// Verdicts of the cases on synthetic results.

const comparison = require('../../../bench/paths/cases/comparison');
const middle = require('../../../bench/paths/cases/middle');
const { load } = require('../../../bench/systems');
const { systems } = require('../../../bench/options/systems');
const path = require('node:path');

const options = { quick: false, rounds: 1, congestion: '', env: {} };

/** @param {object} more */
const result = (more = {}) => ({
  sent: 900,
  lost: 0,
  missing: 0,
  duplicated: 0,
  outOfOrder: 0,
  pauses: [],
  marks: [],
  connects: { gw: 1 },
  classes: { 3: { max: 12 } },
  statuses: [],
  ...more
});

/** @param {string} name @param {string} key @param {object} [more] */
const outcome = (name, key, more) => ({ name, key, label: key, round: 0, result: result(more) });

/** @param {number} ms @param {string} code @param {number} count of paths that carry traffic */
const shows = (ms, code, count) => ({
  ms,
  state: 'connected',
  code,
  reason: '',
  transport: '',
  paths: ['p1', 'p2'].map((name, i) => ({ name, subflows: [i < count ? 1 : 0] }))
});

describe('other problems', () => {
  const well = { statuses: [shows(0, '', 2)] };

  test('passes when the node shows it, nothing is lost and the session is the same', () => {
    const verdicts = middle.verdicts([outcome('middle', 'address', well)], options);
    expect(verdicts).toEqual([expect.objectContaining({ line: "p1's address changes (DHCP)", met: true })]);
  });

  test.each([
    ['a wrong text', { statuses: [shows(0, '', 1)] }, "it shows 'connected · 1 of 2 paths' at 4.5 s"],
    ['a loss', { ...well, lost: 3 }, '3 lost'],
    ['a second session', { ...well, connects: { gw: 1, other: 2 } }, '2 connects'],
    ['silence in the end', { ...well, pauses: [{ at: 1, ms: 900, atEnd: true }] }, 'no arrivals at the end']
  ])('reports %s', (_, more, measured) => {
    const [verdict] = middle.verdicts([outcome('middle', 'address', more)], options);
    expect(verdict).toMatchObject({ met: false, measured: expect.stringContaining(measured) });
  });

  test('lists the texts, the gaps, and the time when delivery resumed in the table', () => {
    const more = {
      statuses: [shows(0, 'NO_MPTCP', 1)],
      marks: [{ ms: 20000, what: 'p1 back' }],
      pauses: [{ at: 8000, ms: 13500 }]
    };
    const text = middle.table([outcome('middle', 'strip', more)], options);
    expect(text).toContain(
      '| connected · fell back to TCP (0.0) | 13.50 (8.0) | 1.50 | 1 | 900 | 0 | 0 | 0 |'
    );
  });

  test('keeps each quick run short', () => {
    const sum = (/** @type {boolean} */ quick) =>
      middle.runs({ ...options, quick }).reduce((all, { seconds }) => all + seconds, 0);
    expect(sum(true)).toBeLessThan(sum(false));
  });
});

describe('the comparison', () => {
  const gap = (/** @type {number} */ ms) => ({ pauses: [{ at: 5000, ms }] });

  test('is met where the gap is shorter than the best of the others and nothing is missing', () => {
    const outcomes = [
      outcome('comparison', 'silent/mptcp', gap(220)),
      outcome('comparison', 'silent/fail-over', { ...gap(1100), missing: 1 }),
      outcome('comparison', 'silent/mqttjs', gap(25000)),
      outcome('comparison', 'silent/mqttjs-servers', gap(8500))
    ];
    expect(comparison.verdicts(outcomes, options)).toMatchObject([
      { target: 'gap < 8.50 s, 0 lost', measured: '0.22 s, 0 lost', met: true },
      { measured: '1.10 s, 1 lost', met: false }
    ]);
  });

  test('is empty when only one side was run', () => {
    expect(comparison.verdicts([outcome('comparison', 'silent/mptcp', gap(220))], options)).toEqual([]);
  });

  test('names each contender in the table, and marks a gap that had no end', () => {
    const more = { pauses: [{ at: 5000, ms: 25000, atEnd: true }], missing: 7, lost: 2 };
    const text = comparison.table([outcome('comparison', 'silent/nodered', more)], options);
    expect(text).toContain("| p1 silent | Node-RED's MQTT nodes |");
    const noise = comparison.table(
      [outcome('comparison', 'silent/mptcp', { pauses: [{ at: 9000, ms: 300 }] })],
      options
    );
    expect(noise).toContain('| < 0.20 | 0.30 |');
    expect(text).toContain('| ≥ 25.00 | ≥ 25.00 | 0.01 | 900 | 2 | 7 | 0 | 1 |');
  });

  test('has a system for each contender', () => {
    const own = load(path.join(__dirname, '../../../bench/paths/systems'));
    const names = own.map(({ name }) => name);
    expect(names).toEqual(['bridge-addresses', 'mqttjs', 'mqttjs-tuned', 'mqttjs-servers']);
    for (const name of names) expect(systems).not.toHaveProperty([name]);
    for (const { lacking } of own) expect(lacking()).toMatch(/^$|\.$/);
    expect(comparison.runs(options).length).toBeGreaterThan(
      comparison.runs({ ...options, quick: true }).length
    );
  });
});
