'use strict';
// bench/questions/paths.js in short, on real interfaces: it must measure, and leave nothing behind. The arithmetic of
// its figures, without them.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { gaps, goodput, zeroSeconds } = require('../../../bench/paths/arrivals');
const { benefit } = require('../../../bench/paths/cases/aggregation');
const { backAfter, connectsInAll, gapOf, sentBetween, worst } = require('../../../bench/paths/judge');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(90000);

const command = path.join(root, 'bench', 'questions', 'paths.js');

/** @param {number} cls @param {number} arrivedMs @param {number} [bytes] */
const sample = (cls, arrivedMs, bytes = 125000) => ({
  class: cls,
  arrivedMs,
  bytes,
  intendedMs: arrivedMs,
  alarm: cls === 1,
  historical: false
});

describe('the figures', () => {
  const samples = [
    ...[1000, 1200, 1400, 3100, 3900].map((ms) => sample(3, ms)),
    ...[1100, 3000].map((ms) => sample(1, ms))
  ].sort((a, b) => a.arrivedMs - b.arrivedMs);
  const window = { samples, fromMs: 1000, toMs: 4000 };

  test('measure a gap per class because another class may hide it, until the end of the load', () => {
    expect(gaps(window, [{ class: 1 }, { class: 3 }], 500)).toEqual({
      longestGapMs: 1600,
      gapMs: { 1: 1900, 3: 1700 },
      gapAt: { 1: 600, 3: 900 }
    });
    expect(gaps({ ...window, toMs: 9000 }, [], 0).longestGapMs).toBe(5100);
    expect(gapOf({ gapMs: { 1: 5, 3: 70 } })).toBe(70);
  });

  test('count seconds without delivery within the load', () => {
    expect(zeroSeconds({ ...window, toMs: 5500 }, 0)).toEqual([2, 4]);
    expect(zeroSeconds(window, 500)).toEqual([1]);
  });

  test('take goodput as the payload of each second', () => {
    expect(goodput(window, 1000, 3)).toEqual([4, 0, 3]);
  });

  test("take the benefit as the second path's addition, as a part of the possible one", () => {
    expect(benefit(78, 30, 48)).toBe(1);
    expect(benefit(48, 30, 48)).toBe(0);
    expect(benefit(63, 30, 48)).toBe(0.5);
  });

  /** Both cables at these parts of their rates, by 100 ms. @param {[number, number][]} parts */
  const countersOf = (parts) => {
    let [a, b] = [0, 0];
    return parts.map(([one, two], i) => {
      const sampled = { at: i * 100, p1: { tx: a }, p2: { tx: b } };
      a += one * 31.31 * 12500;
      b += two * 47.1 * 12500;
      return sampled;
    });
  };

  test('count a path as back when both cables carry half of their rates for half a second', () => {
    const dead = Array(10).fill([1, 0]);
    const slow = Array(4).fill([1, 0.3]);
    const bytes = countersOf([...dead, ...slow, ...Array(10).fill([1, 0.9])]);
    const marks = [{ ms: 1000, what: 'p2 back' }];
    const after = backAfter({ bytes, marks });
    expect(after).toBeGreaterThanOrEqual(100);
    expect(after).toBeLessThanOrEqual(400);
    expect(backAfter({ bytes: countersOf([...dead, ...dead, ...dead]), marks })).toBeUndefined();
    expect(backAfter({ bytes, marks: [] })).toBeUndefined();
    expect(worst([1, undefined])).toBe(Infinity);
    expect(sentBetween(bytes, 2, 0, 900)).toEqual({ bytes: 0, ms: 900 });
  });

  test('report the session that connected most often', () => {
    expect(connectsInAll({ connects: { 'gw-1': 1, 'gw-2': 3 } })).toBe(3);
    expect(connectsInAll({ connects: {} })).toBe(0);
  });
});

test('prints its options and its cases for any user', () => {
  const text = execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8' });
  expect(text).toMatch(
    /^Usage: node bench\/questions\/paths\.js.*aggregation.*death.*backup.*urgent.*--only.*--quick/s
  );
  const wrong = spawnSync(process.execPath, [command, '--only', 'luck'], { encoding: 'utf8' });
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("'luck' is not known")]);
});

const { describe: onPaths } = needs(
  ...['mosquitto', 'mptcpize', 'c++', 'ip', 'tc', 'nft', 'unshare', 'nsenter', 'setpriv'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

onPaths('on two cables', () => {
  /** @type {string} */
  let folder;
  /** @type {Child} */
  let child;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-paths-'));
  });
  afterEach(async () => {
    await child.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** @param {string[]} args */
  const start = (...args) => {
    const env = { ...process.env, TMPDIR: folder };
    child = new Child(process.execPath, [command, '--quick', ...args], { env, name: 'paths.js' });
  };

  /** @returns {Promise<string>} the namespace of the command */
  const namespace = () => child.until((output) => output.match(/namespace: (net:\[\d+\])/)?.[1], 60000);

  /** @param {string} name @returns {string[]} processes in it */
  const inside = (name) =>
    fs.readdirSync('/proc').filter((entry) => {
      try {
        return /^\d+$/.test(entry) && fs.readlinkSync(`/proc/${entry}/ns/net`) === name;
      } catch {
        return false; // ended meanwhile
      }
    });

  test('reports a path that goes down and comes back, and leaves nothing behind', async () => {
    const out = path.join(os.tmpdir(), `seganet-bench-paths-${process.pid}.json`);
    start('--only', 'death', '--out', out);
    const name = await namespace();
    expect(await child.exited).toMatchObject({ code: 0 });
    const { outcomes, verdicts } = JSON.parse(fs.readFileSync(out, 'utf8'));
    fs.rmSync(out);
    expect(outcomes).toMatchObject([{ name: 'death', key: 'silent-1', round: 0 }]);
    const [{ result }] = outcomes;
    expect(result).toMatchObject({ lost: 0, marks: [{ what: 'p1 silent' }, { what: 'p1 back' }] });
    expect(result.acked).toBeGreaterThan(100);
    expect(result.bytes.length).toBeGreaterThan(20);
    expect(result.statuses[0]).toMatchObject({ state: 'connected', transport: 'mptcp' });
    expect(result.watchLog.length).toBeGreaterThan(1);
    expect(verdicts.map((/** @type {any} */ { target }) => target)).toContain('≤ 0.5 s');
    expect(child.output).toContain('| p1: it falls silent |');
    expect(inside(name)).toEqual([]);
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test('leaves nothing behind after SIGINT', async () => {
    start('--only', 'urgent');
    const name = await namespace();
    const watches = () =>
      inside(name).some((pid) => {
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('cli/seganet-paths.js\0watch');
        } catch {
          return false; // ended meanwhile
        }
      });
    await eventually(watches, { timeoutMs: 30000, what: 'a watch' });
    process.kill(child.pid, 'SIGINT');
    expect(await child.exited).toMatchObject({ code: 130 });
    await eventually(() => inside(name).length === 0, { what: 'the end of all in there' });
    await eventually(() => fs.readdirSync(folder).length === 0, { what: 'an empty folder' });
  });
});
