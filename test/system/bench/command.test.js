'use strict';
// seganet-bench as a whole: real brokers, a real gateway, a few devices. It must detect a planted loss.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('mosquitto', 'c++', 'openssl');

jest.setTimeout(120000);

describe('seganet-bench', () => {
  /** @type {string} */
  let folder;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-test-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  /** @param {string[]} args */
  const start = (...args) => {
    const short = ['--only', 'peers', '--devices', '5', '--seconds', '3', '--warmup', '1', '--pin', 'none'];
    const command = [path.join(root, 'bench/main.js'), ...short, '--out', folder, ...args];
    fs.mkdirSync(temporary());
    const env = { ...process.env, TMPDIR: temporary() };
    return new Child(process.execPath, command, { name: 'seganet-bench', cwd: root, env });
  };

  /** The folder for the files of its runs. */
  const temporary = () => path.join(folder, 'tmp');

  const report = () => fs.readFileSync(path.join(folder, 'report.md'), 'utf8');
  const results = () => JSON.parse(fs.readFileSync(path.join(folder, 'results.json'), 'utf8'));

  test('measures, and writes its results', async () => {
    const bench = start('--systems', 'seganet,bare', '--rounds', '1');
    expect((await bench.exited).code).toBe(0);
    const { format, complete, conditions, outcomes, plan } = results();
    expect({ format, complete, rounds: plan.rounds }).toEqual({ format: 1, complete: true, rounds: 1 });
    expect(Object.keys(conditions)).toEqual(expect.arrayContaining(['machine', 'kernel', 'versions']));
    expect(outcomes.map((/** @type {any} */ { key, error }) => [key, error])).toEqual([
      ['5 devices/seganet', undefined],
      ['5 devices/bare', undefined]
    ]);
    const [{ result }] = outcomes;
    expect(result).toMatchObject({ sent: { sent: 150 }, verdict: { lost: 0 }, cleanEnd: true });
    expect(result.arrived.classes[3].latencyUs.buckets.length).toBeGreaterThan(0);
    expect(result.parts[0].switchesPerS).toBeGreaterThan(0);
    const harness = result.harness.map((/** @type {any} */ { name }) => name);
    expect(harness).toEqual(['sink', 'loadgen', 'mosquitto (cloud)']);
    expect(bench.output).toContain('2/2, round 1/1: peers, ');
    expect(report()).toContain('CPU, adaptive / bare server, 5 devices');
    expect(fs.readFileSync(path.join(folder, 'peers-latency-class3-5.svg'), 'utf8')).toMatch(/^<svg/);
  });

  test('reports a planted loss', async () => {
    // Under topics that the sink does not subscribe to: acknowledged, and never seen again.
    const bench = start(
      ...['--systems', 'seganet', '--rounds', '1', '--env', 'SEGANET_UPLINK_TOPIC=elsewhere/{class}']
    );
    await bench.exited;
    const [{ result }] = results().outcomes;
    expect(result.verdict.lost).toBe(150);
    expect(report()).toContain('5 devices/seganet, round 1: 150 of 150 acknowledged records were lost');
  });

  test('ends at Ctrl-C with the report so far, and leaves nothing behind', async () => {
    const page = path.join(root, 'bench', 'RESULTS.md');
    const before = fs.readFileSync(page, 'utf8');
    const bench = start('--systems', 'bare', '--rounds', '50', '--results');
    await bench.until((output) => output.includes('1/50'), 60000);
    bench.process.kill('SIGINT');
    expect((await bench.exited).code).toBe(130);
    expect(results()).toMatchObject({ complete: false });
    expect(results().outcomes.length).toBeGreaterThanOrEqual(1);
    expect(report()).toContain('**Aborted');
    expect(fs.readFileSync(page, 'utf8')).toBe(before);
    expect(fs.readdirSync(temporary())).toEqual([]);
  });
});
