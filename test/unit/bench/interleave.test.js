'use strict';

const { runAll, turns } = require('../../../bench/report/interleave');
const { faultWarnings, faults } = require('../../../bench/report/warnings');
const { Progress, duration } = require('../../../bench/report/progress');

/** @param {string} key @param {() => any} [run] */
const entry = (key, run = () => key) => ({ key, label: key, seconds: 10, run: async () => run() });

const groups = [
  { chapter: 'x', cases: [entry('a'), entry('b'), entry('c')] },
  { chapter: 'y', cases: [entry('d')] },
  { chapter: 'none', cases: [] }
];

/** @param {import('../../../bench/report/interleave').Turn[]} all */
const order = (all) => all.map(({ round, entry: { key } }) => `${round}${key}`).join(' ');

const never = new AbortController().signal;

describe('rounds', () => {
  test('runs every case once in each round, rotating the first; a chapter stays together', () => {
    expect(order(turns(groups, 3))).toBe('0a 0b 0c 0d 1d 1b 1c 1a 2c 2a 2b 2d');
    expect(turns([], 3)).toEqual([]);
  });

  test('reports a failed case and continues with the others', async () => {
    const fails = entry('b', () => {
      throw new Error('no room');
    });
    const all = turns([{ chapter: 'x', cases: [entry('a'), fails, entry('c')] }], 1);
    const outcomes = await runAll(all, never);
    expect(outcomes.map(({ key, result, error }) => [key, result ?? error])).toEqual([
      ['a', 'a'],
      ['b', 'no room'],
      ['c', 'c']
    ]);
  });

  test('repeats a run that the hypervisor disturbed, twice at most, and counts the least disturbed one', async () => {
    /** @param {string} key @param {number[]} parts of its runs */
    const steals = (key, ...parts) => {
      let runs = 0;
      return entry(key, () => ({ nth: runs, machine: { steal: parts[runs++] } }));
    };
    const cases = [steals('calm', 0.005), steals('once', 0.02, 0.001), steals('bad', 0.04, 0.02, 0.03, 0)];
    const all = turns([{ chapter: 'x', cases }], 1);
    const outcomes = await runAll(all, never, { mostSteal: 0.005 });
    expect(outcomes.map(({ key, again, result }) => [key, again?.times, result.nth])).toEqual([
      ['calm', undefined, 0],
      ['once', 1, 1],
      ['bad', 2, 1]
    ]);
  });

  test('also reports what a discarded run lost, or why it failed', async () => {
    const parts = [1, 2, 0.001];
    const entryOf = entry('a', () => {
      const steal = /** @type {number} */ (parts.shift());
      return { verdict: { lost: steal > 0.5 ? 3 * steal : 0 }, sent: { acked: 9 }, machine: { steal } };
    });
    const all = turns([{ chapter: 'x', cases: [entryOf] }], 1);
    const [outcome] = await runAll(all, never, { mostSteal: 0.005 });
    expect(faultWarnings([outcome])).toEqual([
      'a, round 1: 6 of 9 acknowledged records were lost, in a discarded run.',
      'a, round 1: 3 of 9 acknowledged records were lost, in a discarded run.'
    ]);
    expect(faults({ ...outcome, result: undefined, error: 'no room\nat once' })).toEqual(['no room']);
  });

  test('gives a case the earlier results of its chapter', async () => {
    /** @type {string[][]} */
    const seen = [];
    const looks = (/** @type {string} */ key) => ({
      ...entry(key),
      run: async (/** @type {any} */ { previous }) => {
        seen.push(previous.map((/** @type {any} */ each) => each.key));
      }
    });
    await runAll(turns([{ chapter: 'x', cases: [looks('a'), looks('b')] }, groups[1]], 1), never);
    expect(seen).toEqual([[], ['a']]);
  });

  test('waits after Ctrl-C for the current run, does not count it, and starts nothing else', async () => {
    const abort = new AbortController();
    let cleaned = false;
    const interrupted = entry('b', async () => {
      abort.abort();
      await Promise.resolve();
      cleaned = true;
    });
    const all = turns([{ chapter: 'x', cases: [entry('a'), interrupted, entry('c')] }], 1);
    const outcomes = await runAll(all, abort.signal);
    expect(outcomes.map(({ key }) => key)).toEqual(['a']);
    expect(cleaned).toBe(true);
  });
});

describe('the progress', () => {
  /** @param {boolean} isTTY */
  const stream = (isTTY) => ({ isTTY, columns: 60, text: '', write: (/** @type {string} */ more) => more });

  test('is a line for each run without a terminal, and estimates how long a case takes', () => {
    const lines = /** @type {string[]} */ ([]);
    const all = turns(groups, 2);
    const out = { ...stream(false), write: (/** @type {string} */ line) => lines.push(line) };
    const progress = new Progress(all, out, () => 0);
    expect(progress.secondsLeft()).toBe(80);
    progress.started(all[0]);
    progress.ended({ chapter: 'x', key: 'a', round: 0, seconds: 50 }, all[0]);
    expect(lines).toEqual(['1/8, round 1/2: x, a: done, 2 min left\n']); // 50 for the second a, and 6 × 10
    progress.started(all[1]);
    progress.ended({ chapter: 'x', key: 'b', round: 0, error: 'no room\nat x', seconds: 1 }, all[1]);
    expect(lines[1]).toContain('x, b: FAILED: no room,');
  });

  test('is a bar that fits a terminal, and counts down during a case', () => {
    const texts = /** @type {string[]} */ ([]);
    let now = 0;
    const all = turns(groups, 1);
    const out = { ...stream(true), write: (/** @type {string} */ text) => texts.push(text) };
    const progress = new Progress(all, out, () => now);
    progress.started(all[0]);
    now = 4000;
    progress.draw();
    progress.close();
    expect(texts[0]).toBe('\r\x1b[K[--------------------] 0/4 | 40 s left | x, a');
    expect(texts[1]).toContain('36 s left');
    expect(texts.every((text) => text.length <= 64)).toBe(true);
  });

  test('writes durations briefly', () => {
    expect([5, 89, 120, 7200].map(duration)).toEqual(['5 s', '89 s', '2 min', '2.0 h']);
  });
});
