'use strict';
// The commands that shape a link, in short, on real interfaces: they must measure, and leave nothing behind.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { arrivalsOf, latencyOf, windows } = require('../../../bench/stats/by-class');
const { obstacle } = require('../../../bench/harness/netns');
const { bitsPerSecond, difference } = require('../../../bench/harness/qdisc');
const { inTimeOf } = require('../../../bench/economy/traces');
const { minima, progress } = require('../../../bench/stats/shares');
const { loadOptions, rulesOf } = require('../../../bench/harness/traffic');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

jest.setTimeout(120000);

/** @param {string} command */
const file = (command) => path.join(root, 'bench', 'questions', command);

/** @param {number} cls @param {number} intendedMs @param {number} arrivedMs @param {number} [bytes] */
const sample = (cls, intendedMs, arrivedMs, bytes = 100) => ({
  class: cls,
  intendedMs,
  arrivedMs,
  bytes,
  alarm: cls === 1,
  historical: false
});

describe('the figures', () => {
  const samples = [sample(1, 0, 5), sample(1, 1000, 1010), sample(3, 1000, 2500), sample(3, 1500, 5500, 300)];

  test('take latencies of the window in which a record was intended, over all rounds', () => {
    const rounds = [
      { samples, fromMs: 500, toMs: 2000 },
      { samples: [sample(1, 7000, 7030)], fromMs: 6500, toMs: 8000 }
    ];
    expect(latencyOf(rounds, 1)).toEqual({ count: 2, p50: 10, p99: 30, max: 30 });
    expect(latencyOf(rounds, 3)).toMatchObject({ count: 2, max: 4000 });
    expect(latencyOf(rounds, 4)).toMatchObject({ count: 0, p99: undefined });
  });

  test('take rates of the window in which a record arrived, and detect a window without progress', () => {
    expect(arrivalsOf(samples, 3, 2000, 4000)).toEqual({
      records: 1,
      bytes: 100,
      recordsPerS: 0.5,
      bytesPerS: 50
    });
    expect(arrivalsOf(samples, undefined, 0, 6000).bytes).toBe(600);
    expect(windows(0, 5998, 2000)).toHaveLength(3); // generators start within milliseconds of each other
    expect(progress(samples, 3, 0, 6000, 2000)).toMatchObject({ progressed: 2, lowest: 0 });
  });

  test('state the promises of the weights and the aging', () => {
    expect(minima([2, 3, 4], 260)).toEqual({ 2: 160, 3: 80, 4: 20 });
    expect(minima([3, 4], 10, 3)).toEqual({ 3: 8, 4: 3 });
    expect(minima([2, 3, 4], 0, 0.2)).toEqual({ 2: 0.2, 3: 0.2, 4: 0.2 });
  });

  test('make devices of one class each, with rules for the gateway', () => {
    const traffic = [1, 3, 4, 7].map((cls) => ({ class: cls, devices: 2, perSecond: 10 }));
    expect(JSON.parse(rulesOf(traffic))).toEqual([
      { topic: 'd/+/alarm', class: 1 },
      { topic: 'd/+/bulk', class: 4 },
      { topic: 'd/+/7', class: 7 }
    ]);
    expect(loadOptions(traffic[0])).toMatchObject({ rate: 5, 'first-device': 1000, 'alarm-every': 1 });
    expect(loadOptions(traffic[3])).toMatchObject({ 'first-device': 7000, 'topic-kind': '7' });
  });

  test('read rates and subtract counters', () => {
    expect(['2mbit', '1.5M', '800kbit', '64000', 'fast', '-1'].map(bitsPerSecond)).toEqual([
      2e6,
      1.5e6,
      8e5,
      64000,
      NaN,
      NaN
    ]);
    const before = { all: { packets: 1, bytes: 10, dropped: 2 } };
    const after = { all: { packets: 4, bytes: 50, dropped: 5 }, ef: { packets: 1, bytes: 9 } };
    expect(difference(before, after)).toEqual({
      all: { packets: 3, bytes: 40, dropped: 3 },
      ef: { packets: 1, bytes: 9 }
    });
  });
});

test.each(['priority.js', 'starvation.js'])('%s prints its options for any user', (command) => {
  const text = execFileSync(process.execPath, [file(command), '--help'], { encoding: 'utf8' });
  expect(text).toMatch(/^Usage: node bench\/.*--rate.*--qdisc.*--out /s);
  const wrong = spawnSync(process.execPath, [file(command), '--qdisc', 'cake'], { encoding: 'utf8' });
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("'cake' is not known")]);
});

const isRoot = process.getuid?.() === 0;
const tools = ['mosquitto', 'c++', 'ip', 'tc', 'nft', 'unshare', 'nsenter', 'setpriv'];
const onLink = needs(...(isRoot ? tools : ['root']));

onLink.test('names the requirements and the reason for a user without root', () => {
  expect(obstacle()).toBe('');
  const script = `process.setuid(65534);
    process.stdout.write(require(${JSON.stringify(path.join(root, 'bench', 'harness', 'netns.js'))}).obstacle())`;
  const reported = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(reported.stdout).toMatch(/needs root\. Run it with sudo/);
});

needs(...(isRoot ? [...tools, 'python3'] : ['root'])).test(
  'distinguishes planted traffic in the counters',
  () => {
    const child = path.join(root, 'test', 'fixtures', 'network', 'bands-child.js');
    const seen = JSON.parse(execFileSync(process.execPath, [child], { encoding: 'utf8' }));
    const frame = 1000 + 8 + 20 + 14;
    for (const kind of ['none', 'tbf-pfifo_fast', 'htb']) {
      const { band0, band2, ef } = seen[kind];
      expect([kind, band0.packets, band2.packets, ef.packets]).toEqual([kind, 14, 7, 11]);
      expect(band0.bytes).toBe(14 * frame);
      // ARP and similar packets have priority 0.
      expect(seen[kind].band1.packets).toBeGreaterThanOrEqual(5);
      expect(seen[kind].all.packets).toBeGreaterThanOrEqual(26);
    }
    // Some kernels let htb see only DSCP.
    expect(seen.htb['1:10'].packets).toBeGreaterThanOrEqual(11);
    expect(seen.htb['1:20'].packets).toBeGreaterThanOrEqual(5);
  }
);

onLink.describe('on two networks', () => {
  /** @type {string} */
  let folder;
  /** @type {Child} */
  let child;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-link-'));
  });
  afterEach(async () => {
    await child.stop();
    fs.rmSync(folder, { recursive: true });
  });

  /** Runs with its temporary files in `folder`. @param {string} command @param {string[]} args */
  function start(command, args) {
    child = new Child(process.execPath, [file(command), ...args, '--out', path.join(folder, 'out.json')], {
      name: command,
      cwd: root,
      env: { ...process.env, TMPDIR: folder }
    });
  }

  /** @param {string} command @param {string[]} args @returns {Promise<any>} its saved results */
  async function result(command, args) {
    start(command, args);
    expect([await child.exited, child.output]).toEqual([{ code: 0, signal: null }, expect.anything()]);
    return JSON.parse(fs.readFileSync(path.join(folder, 'out.json'), 'utf8'));
  }

  const short = '--seconds 5 --warmup 1 --repeat 1 --variants default --payload 200 --urgent 20'.split(' ');

  test('finds a saturated link slow and full, and the same load without a limit neither', async () => {
    const load = ['--load', '1.5'];
    const shaped = (await result('priority.js', [...short, ...load])).runs[0];
    const free = (await result('priority.js', [...short, ...load, '--rate', 'off'])).runs[0];
    const mbit = (/** @type {any} */ { bands, fromMs, toMs }) =>
      (bands.all.bytes * 8) / 1000 / (toMs - fromMs);
    expect(mbit(shaped)).toBeGreaterThan(1.5);
    expect(mbit(shaped)).toBeLessThan(2.1);
    expect(mbit(free)).toBeGreaterThan(2.2);
    expect(shaped.latencyMs[3].p99).toBeGreaterThan(1000);
    expect(free.latencyMs[3].p99).toBeLessThan(shaped.latencyMs[3].p99 / 2);
    expect(free.latencyMs[1].p50).toBeLessThan(200 * PATIENCE);
    for (const run of [shaped, free]) {
      expect(run.loads.map((/** @type {any} */ { verdict }) => verdict.lost)).toEqual([0, 0]);
      expect(run.latencyMs[1].count).toBeGreaterThan(70);
      expect(run.arrived).toMatchObject({ topicMismatches: 0, classMismatches: 0, badLines: 0 });
      const { band0, band1, band2 } = run.bands;
      expect(band0.bytes + band1.bytes + band2.bytes).toBeGreaterThan(100000);
    }
  });

  test('counts the bytes of a record on a link, of a bridge and of compressed batches', async () => {
    const load = '--links --shapes Shelly --rates 500 --full none --seconds 2 --warmup 1'.split(' ');
    const { rows } = await result('../economy.js', [...load, '--ways', 'bridge,zstd-100ms']);
    const [bridge, zstd] = rows;
    expect(rows.map((/** @type {any} */ { way, rate }) => [way, rate])).toEqual([
      ['bridge', 500],
      ['zstd-100ms', 500]
    ]);
    expect(bridge.recordsPerMessage).toBe(1);
    expect(bridge.ipBytes).toBeGreaterThan(220);
    expect(bridge.ipBytes).toBeLessThan(700);
    expect(zstd.recordsPerMessage).toBeGreaterThan(5);
    expect(zstd.ipBytes).toBeLessThan(bridge.ipBytes / 2);
  });

  test('keeps the patience of records over a link that varies, for fewer bytes than static limits', async () => {
    const load = '--traces --kinds lte --settings static,thrifty --seconds 2 --seed 4'.split(' ');
    const { rows } = await result('../economy.js', [...load, '--patience', '0,1500,1500,2000']);
    const [fixed, thrifty] = rows;
    expect([fixed.way, thrifty.way]).toEqual(['static', 'thrifty']);
    expect(thrifty.ipBytes).toBeLessThan(fixed.ipBytes * 0.6);
    expect(thrifty.classes.map((/** @type {any} */ each) => [each.class, each.sent >= 35])).toEqual([
      [2, true],
      [3, true],
      [4, true]
    ]);
    // Few records: one moment without CPU time delays several.
    expect(inTimeOf(thrifty)).toBeGreaterThanOrEqual(0.99);
  });

  test('reports each class and window in the short form of the other command', async () => {
    const times = '--seconds 4 --window 2 --warmup 1 --calibrate 3 --qdisc htb --devices 4'.split(' ');
    const [run] = (await result('starvation.js', times)).runs;
    expect(run.urgentAlone).toBeGreaterThan(300);
    expect(run.bulkAlone).toBeGreaterThan(run.urgentAlone); // batches cost less
    expect(run.classes.map((/** @type {any} */ each) => [each.class, each.windows.length])).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
      [4, 2]
    ]);
    expect(run.classes[0].progressed).toBe(2);
    expect(run.classes.map((/** @type {any} */ { lost }) => lost)).toEqual([0, 0, 0, 0]);
  });

  /** @param {string[]} names of namespaces @returns {string[]} processes that are in one of them */
  const inside = (names) =>
    fs.readdirSync('/proc').filter((entry) => {
      try {
        return /^\d+$/.test(entry) && names.includes(fs.readlinkSync(`/proc/${entry}/ns/net`));
      } catch {
        return false; // ended meanwhile
      }
    });

  /** @param {string} pid */
  const commandOf = (pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return ''; // ended meanwhile
    }
  };

  /** @returns {Promise<string[]>} of the command that was started */
  const namespaces = () =>
    child.until((output) => {
      const line = output.match(/namespaces: (.*)/);
      return line ? line[1].split(', ') : undefined;
    });

  test.each(/** @type {const} */ (['SIGINT', 'SIGKILL']))('%s leaves nothing behind', async (signal) => {
    start('priority.js', short);
    const names = await namespaces();
    await eventually(() => inside(names).some((pid) => commandOf(pid).includes('loadgen')), {
      timeoutMs: 30000,
      what: 'load'
    });
    process.kill(child.pid, signal);
    const ended = await child.exited;
    expect(ended).toMatchObject(signal === 'SIGINT' ? { code: 130 } : { signal });
    await eventually(() => inside(names).length === 0, { what: 'the end of all in there' });
    await eventually(() => fs.readdirSync(folder).length === 0, { what: 'an empty folder' });
  });

  test('reports a run that fails and leaves nothing behind', async () => {
    start('priority.js', [...short, '--env', 'SEGANET_BATCH_MODE=nonsense']);
    const names = await namespaces();
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.output).toMatch(/the gateway did not become ready:\s.*SEGANET_BATCH_MODE/s);
    expect(inside(names)).toEqual([]);
    expect(fs.readdirSync(folder)).toEqual([]);
  });
});
