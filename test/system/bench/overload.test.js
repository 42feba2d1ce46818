'use strict';
// The benchmarks of overload, of a blocked event loop and of batching: their sums by hand, and their short forms with
// real components.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { obstacle } = require('../../../bench/harness/netns');
const { answerTimes, blockingNodes, blocksIn } = require('../../../bench/runs/loop-probe');
const { describeOverload, recoverySecond } = require('../../../bench/report/overload-summary');
const { dropsOf, steady } = require('../../../bench/runs/overload-run');
const { percentCell, ratioCells, ratios, turned } = require('../../../bench/report/pairs');
const { toolsForLimits } = require('../../fixtures/network/control-groups');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(120000);

/**
 * Runs a command of the bench.
 * @param {string} command
 * @param {string[]} args
 * @returns {{printed: string, saved: any}}
 */
function bench(command, args) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-test-'));
  try {
    const file = path.join(folder, 'out.json');
    const all = [path.join(root, 'bench', 'questions', command), ...args, '--pin', 'none', '--out', file];
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
    expect(ratioCells(runs, 'b', 'a', [['x', value, 0]])).toEqual(['0.80 [0.50..1.10]']);
    expect(percentCell([1.1, 0.5])).toBe('-20.0 (+10.0 -50.0)');
    expect(percentCell([1.1])).toBe('+10.0');
    expect(percentCell([])).toBe('–');
  });

  test('have no ratio with a missing or zero value', () => {
    const runs = [run('a', 0, 0), run('b', 0, 1), run('a', 1, undefined), run('b', 1, 1)];
    expect(ratios(runs, 'b', 'a', value)).toEqual([]);
  });

  test('start with another one in each round', () => {
    expect([0, 1, 2].map((round) => turned(['a', 'b'], round).join(''))).toEqual(['ab', 'ba', 'ab']);
  });
});

describe('the blocking node', () => {
  test('blocks for the configured time, and reports it', () => {
    const node = /** @type {any} */ (blockingNodes(50, 5).find(({ type }) => type === 'function'));
    const logged = /** @type {string[]} */ ([]);
    const since = Date.now();
    new Function('node', node.func)({ warn: (/** @type {string} */ text) => logged.push(text) });
    expect(Date.now() - since).toBeGreaterThanOrEqual(50);
    expect(blocksIn(`warning: ${logged[0]}\n`.repeat(3))).toBe(3);
  });

  test('detects an API that answers late', async () => {
    const http = require('node:http');
    let asked = 0;
    const server = http.createServer((_, response) => {
      setTimeout(() => response.end(), asked++ === 1 ? 300 : 0);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    try {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      const times = await answerTimes(/** @type {any} */ ({ editorPort: port }), Date.now() + 500, 1);
      expect(Math.max(...times)).toBeGreaterThanOrEqual(290);
    } finally {
      server.close();
    }
  });
});

const withBroker = needs('mosquitto', 'c++');
withBroker.describe('the commands', () => {
  test('print their options', () => {
    for (const command of ['overload', 'blocked-loop', 'batching', 'live-view', 'scrape']) {
      const all = [path.join(root, 'bench', 'questions', `${command}.js`), '--help'];
      const printed = execFileSync(process.execPath, all, { cwd: root, encoding: 'utf8' });
      expect(printed).toMatch(/^Usage: node bench\/.*--devices .*--out /s);
    }
  });

  test('proves in a short blocked-loop run that the loop was blocked, and loses nothing', () => {
    const times = ['--seconds', '5', '--warmup', '1', '--block', '1000', '--every', '2'];
    const { printed, saved } = bench('blocked-loop.js', ['--devices', '10', '--repeat', '1', ...times]);
    expect(printed).toMatch(/\| blocked \/ free \| [-+]/);
    expect(printed).not.toContain('these results prove nothing');
    const [free, blocked] = saved.runs;
    expect(free).toMatchObject({ variant: 'free', blocks: 0, verdict: { lost: 0 }, cleanEnd: true });
    expect(blocked).toMatchObject({ variant: 'blocked', verdict: { lost: 0 }, cleanEnd: true });
    expect(blocked.blocks).toBeGreaterThanOrEqual(2);
    expect(Math.max(...blocked.answers)).toBeGreaterThan(600);
  });

  test('sends a snapshot a second to the viewers in a short run of live-view', () => {
    const times = ['--seconds', '5', '--warmup', '1'];
    const { printed, saved } = bench('live-view.js', ['--devices', '10', '--repeat', '1', ...times]);
    expect(printed).toMatch(/\| searched \/ none \| [-+]/);
    expect(printed).not.toContain('these results prove nothing');
    const counts = Object.fromEntries(
      saved.runs.map((/** @type {any} */ { variant, snapshots }) => [variant, snapshots])
    );
    expect(counts.none).toBe(0);
    for (const variant of ['viewed', 'searched']) {
      expect(counts[variant]).toBeGreaterThanOrEqual(3);
      expect(counts[variant]).toBeLessThanOrEqual(8);
    }
  });

  test("counts the cloud's traffic in a short run of batching", () => {
    const { printed, saved } = bench('batching.js', [
      ...['--cells', '60x10', '--seconds', '3', '--warmup', '1', '--repeat', '1']
    ]);
    expect(printed).toMatch(/\| 60 × 10\/s \| adaptive \|/);
    expect(saved.runs.length).toBe(2);
    for (const { arrived, sent, traffic, verdict } of saved.runs) {
      expect(verdict.lost).toBe(0);
      expect(arrived.unique).toBe(sent.sent);
      expect(traffic.up.records).toBeGreaterThan(0); // several PUBLISH may share one
      expect(traffic.up.bytes).toBeGreaterThan(sent.sent * 200);
      expect(traffic.up.ipBytes).toBeGreaterThan(traffic.up.bytes + traffic.up.segments * 39);
      expect(traffic.down.bytes).toBeGreaterThan(0);
    }
  });
});

const withLimits = needs('mosquitto', 'c++', ...toolsForLimits());
withLimits.describe('too much load', () => {
  test('is limited in short, loses nothing, and ends', () => {
    const { printed, saved } = bench('overload.js', [
      ...[
        '--cpu',
        '0.25',
        '--loads',
        '200',
        '--seconds',
        '3',
        '--before',
        '3',
        '--after',
        '3',
        '--warmup',
        '1'
      ],
      ...['--capacity-seconds', '5', '--devices', '20', '--alarm-devices', '5', '--alarm-rate', '10']
    ]);
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
    const { printed, saved } = bench('overload.js', [
      ...[
        '--link',
        '500kbit',
        '--loads',
        '200',
        '--seconds',
        '3',
        '--before',
        '3',
        '--after',
        '3',
        '--warmup',
        '1'
      ],
      ...['--capacity-seconds', '5', '--devices', '20', '--alarm-devices', '5', '--alarm-rate', '10']
    ]);
    expect(printed).toContain('a link of 0.5 Mbit/s towards the cloud');
    const [run] = saved.runs;
    expect(run).toMatchObject({ verdict: { lost: 0 }, cleanEnd: true, arrived: { duplicates: 0 } });
    expect(run.short.linkBytes).toBeGreaterThan(0.8 * 3 * 62500);
    expect(run.short.linkBytes).toBeLessThan(1.2 * 3 * 62500);
    expect(saved.capacities[0].perSecond).toBeGreaterThan(100);
  });
});
