'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { loadChapters } = require('../../../bench/options/chapter');
const { headline } = require('../../../bench/report/report');
const { begin, end, replaceSection, resultsSection } = require('../../../bench/report/results-page');
const {
  joinResults,
  readResults,
  reportText,
  sections,
  writeReport,
  writeResults
} = require('../../../bench/report/results');
const { ratio } = require('../../../bench/runs/side-by-side');
const { distribution } = require('../../../bench/runs/figures');
const { planOf, resultOf } = require('../../fixtures/bench/synthetic');

const plan = planOf({ gatewayCpus: '0', harnessCpus: '1' });

/** A synthetic result of measure(). @param {number} cores @param {number} p99 us */
function measured(cores, p99) {
  const latencyUs = {
    count: 100,
    p50: 500,
    p90: 900,
    p99,
    p999: p99,
    max: p99,
    buckets: [
      [500, 50],
      [p99, 50]
    ]
  };
  return {
    ...resultOf(cores, { classes: { 1: { latencyUs }, 3: { latencyUs } } }),
    samples: [1, 2],
    harness: [],
    machine: { steal: 0, throttled: 0 },
    sent: { sent: 120000, acked: 120000, late: 0 }
  };
}

/** @param {string} name @param {number} round @param {number} cores */
const run = (name, round, cores) => ({
  chapter: 'peers',
  key: `1,000 devices/${name}`,
  round,
  seconds: 20,
  result: measured(cores, 2000)
});

/** @returns {import('../../../bench/report/results').Results} */
const results = () => ({
  format: 1,
  command: 'seganet-bench',
  date: '2026-01-02T03:04:05.000Z',
  complete: true,
  plan,
  conditions: { machine: 'a made-up one' },
  notRun: [{ chapter: 'peers', label: 'Telegraf', why: 'It is not installed.' }],
  warnings: ['The load average was 3.'],
  outcomes: [
    ...[0.2, 0.3, 0.1].map((cores, round) => run('seganet', round, cores)),
    ...[1, 1, 1].map((cores, round) => run('nodered', round, cores)),
    { chapter: 'peers', key: '1,000 devices/bare', round: 0, error: 'it did not start\nat line 7' }
  ]
});

const chapters = loadChapters().filter(({ name }) => name === 'peers');

describe('the report', () => {
  test('is the same for results that were written and read again', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-report-'));
    try {
      writeResults(folder, results());
      const file = path.join(folder, 'results.json');
      expect(fs.readFileSync(file, 'utf8')).not.toContain('samples');
      const again = readResults(file);
      const made = sections(again, chapters);
      expect(reportText(again, made)).toBe(reportText(results(), sections(results(), chapters)));
      writeReport(folder, again, made);
      expect(fs.readdirSync(folder)).toContain('peers-latency-class1-1000.svg');
      fs.writeFileSync(file, '{}');
      expect(() => readResults(file)).toThrow('is not a results.json');
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  test('has medians with ranges, ratios with targets, failures, skipped cases, and warnings', () => {
    const text = reportText(results(), sections(results(), chapters));
    expect(text).toContain('| SegaNet, adaptive | 0.200 [0.100..0.300] |');
    expect(text).toContain(
      'CPU, adaptive / Node-RED and mosquitto, 1,000 devices | 0.20 [0.10..0.30] | ≤ 0.25 | yes |'
    );
    expect(text).toContain('- peers 1,000 devices/bare, round 1: it did not start\n');
    expect(text).toContain('Not run: Telegraf. It is not installed.');
    expect(text).toContain('**Warning**: The load average was 3.');
    expect(text).not.toContain('at line 7');
  });

  test('marks prominently what is not a result', () => {
    const quick = { ...results(), plan: { ...plan, quick: true } };
    expect(reportText(quick, [])).toContain('**This was a quick check');
    expect(reportText({ ...results(), complete: false }, [])).toContain('**Aborted');
  });

  test('contains a failure to the report of its chapter', () => {
    const broken = {
      ...chapters[0],
      report: () => {
        throw new Error('a missing field');
      }
    };
    const [section] = sections(results(), [broken]);
    expect(section.warnings).toContain('This chapter has no report: a missing field');
  });

  test('takes ratios within one round only', () => {
    const outcomes = [run('seganet', 0, 0.2), run('seganet', 1, 0.5), run('nodered', 1, 1)];
    const pair = /** @type {[string, string]} */ (['1,000 devices/seganet', '1,000 devices/nodered']);
    const value = (/** @type {any} */ { cores }) => cores;
    expect(ratio('r', outcomes, pair, value)).toEqual([
      { name: 'r', target: undefined, median: 0.5, low: 0.5, high: 0.5 }
    ]);
    expect(ratio('r', outcomes.slice(0, 1), pair, value)).toEqual([]);
  });

  test('sums distributions of all rounds; without histograms it draws the quantiles', () => {
    const both = [measured(1, 2000), measured(1, 2000)];
    expect(distribution(both, 1)).toEqual([
      [0.5, 0.5],
      [2, 1]
    ]);
    const plain = measured(1, 2000);
    Object.assign(plain.arrived.classes[1].latencyUs, { buckets: undefined });
    expect(distribution([plain], 1)[2]).toEqual([2, 0.99]);
    expect(distribution([plain], 7)).toEqual([]);
  });
});

describe('the section of bench/RESULTS.md', () => {
  const text = `# X\n\n${begin}\nold\n${end}\n\nrest\n`;

  test('replaces the old one and nothing else', () => {
    const once = replaceSection(text, '\nnew\n\n');
    expect(once).toBe(`# X\n\n${begin}\nnew\n${end}\n\nrest\n`);
    expect(replaceSection(once, 'new')).toBe(once);
  });

  test.each([
    ['no', '# X'],
    ['one', `${begin}\n`],
    ['swapped', `${end}\n${begin}\n`],
    ['repeated', text + text]
  ])('is refused by a page with %s markers', (_, bad) => {
    expect(() => replaceSection(bad, 'new')).toThrow('once each');
  });

  test('has the table, the ratios, the machine, the date, the command, and headings of level 3 and below', () => {
    const made = resultsSection(results(), sections(results(), chapters));
    for (const part of [
      'a made-up one',
      '2026-01-02',
      'seganet-bench',
      '≤ 0.25',
      '| SegaNet, adaptive | 0.200'
    ]) {
      expect(made).toContain(part);
    }
    expect(made).not.toMatch(/^##? /m);
  });

  test('has its markers in the page', () => {
    const page = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'bench', 'RESULTS.md'), 'utf8');
    expect(replaceSection(page, 'new')).toContain(`${begin}\nnew\n${end}`);
  });

  test('is written by --results', () => {
    const main = path.join(__dirname, '..', '..', '..', 'bench', 'main.js');
    const { stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8' });
    expect(stdout).toContain('--results');
  });
});

describe('results of several runs', () => {
  test('make one report, each chapter with its own number of rounds', () => {
    const peers = results();
    const other = { ...results(), command: 'seganet-bench --only paper', warnings: ['noisy'] };
    other.outcomes = other.outcomes
      .filter(({ round }) => round === 0)
      .map((outcome) => ({ ...outcome, chapter: 'other' }));
    const both = [
      ...loadChapters().filter(({ name }) => name === 'peers'),
      /** @type {any} */ ({
        name: 'other',
        title: 'Other',
        what: '',
        cases: () => [],
        report: () => ({ heading: 'Other', markdown: 'text', ratios: [], plots: [], warnings: [] })
      })
    ];
    const joined = joinResults([peers, other]);
    const made = sections(joined, both);
    expect(made.map(({ name, rounds }) => [name, rounds])).toEqual([
      ['peers', new Set(peers.outcomes.map(({ round }) => round)).size],
      ['other', 1]
    ]);
    const text = reportText(joined, made);
    expect(text).toContain(`${peers.command}\nseganet-bench --only paper`);
    expect(text).toContain('One round');
    expect(text).toContain('noisy');
  });

  test('cannot be joined when two of them have the same chapter', () => {
    expect(() => joinResults([results(), results()])).toThrow('peers is in two of the results');
  });
});

test('shows the last line of the output of a program that failed', () => {
  expect(headline('loadgen exited; its last output:\nready\n--steps must be …\n')).toBe(
    'loadgen exited; its last output: --steps must be …'
  );
  expect(headline('Error: no such file\n    at open')).toBe('Error: no such file');
});
