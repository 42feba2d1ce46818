'use strict';
// The benchmarks with faults: a loss is detected, and the short forms of the commands run.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { percentile, liveAlarms } = require('../../../bench/stats/latency');
const { describeOutage, thinned } = require('../../../bench/stats/outage-summary');
const { Stage } = require('../../../bench/runs/stage');
const { Volume } = require('../../../bench/harness/volume');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(90000);

/** @type {import('../../../bench/runs/measure').Profile} */
const profile = {
  devices: 5,
  rate: 20,
  seconds: 1,
  warmup: 0,
  payload: 200,
  alarmEvery: 10,
  inflight: 64,
  quietMs: 4000,
  drain: 10,
  gatewayCpus: undefined,
  harnessCpus: undefined,
  datatype: 'buffer',
  gatewayEnv: {}
};

/** @param {string} command @param {string[]} args */
const bench = (command, args) =>
  execFileSync(process.execPath, [path.join(root, 'bench', 'questions', command), ...args], {
    cwd: root,
    encoding: 'utf8'
  });

describe('the summary of an outage', () => {
  /** @param {number} intendedMs @param {number} arrivedMs @param {Partial<import('../../../bench/stats/latency').Sample>} [more] */
  const sample = (intendedMs, arrivedMs, more) => ({
    intendedMs,
    arrivedMs,
    alarm: true,
    historical: false,
    ...more
  });

  test('distinguishes live alarms from the backlog and from earlier ones', () => {
    const samples = [
      sample(1000, 1002),
      sample(1500, 1504),
      sample(1600, 1700, { alarm: false }),
      sample(3500, 3506), // the first after the return
      sample(2000, 3510, { historical: true }),
      sample(3600, 3603),
      sample(2500, 3900, { alarm: false, historical: true }), // the last of the waiting ones
      sample(4000, 4009) // after the drain
    ];
    const memory = [
      { second: 0, rssMB: 100, logMB: 0 },
      { second: 2, rssMB: 140, logMB: 7 }
    ];
    const result = /** @type {any} */ ({ samples, memory, startMs: 0 });
    const env = { ...profile, gatewayEnv: { SEGANET_MEMORY_MIB: '100', SEGANET_LOG_MIB: '10' } };
    const reported = describeOutage(result, env, { downMs: 1800, upMs: 3000 });
    expect(reported).toMatchObject({
      rssBeforeMB: 100,
      rssMaxMB: 140,
      logMaxMB: 7,
      uplinkBackS: 0.506,
      drainS: 0.9
    });
    expect(reported.before).toEqual({ count: 2, p50: 2, p99: 4, max: 4 });
    expect(reported.draining).toEqual({ count: 1, p50: 3, p99: 3, max: 3 });
  });

  test('computes percentiles, of an empty list too', () => {
    expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect(percentile([], 0.5)).toBeUndefined();
    expect(liveAlarms([], 0, 1)).toMatchObject({ count: 0, p99: undefined });
    expect(thinned([1, 2, 3, 4, 5], 2)).toEqual([2, 5]);
  });
});

const withBroker = needs('mosquitto', 'c++');
withBroker.describe('a system that is killed while the cloud is away', () => {
  test('loses acknowledged records, as the bench detects, and devices repeat unacknowledged ones', async () => {
    const stage = new Stage(profile);
    try {
      await stage.open();
      const system = await stage.startSystem('mosquitto-bridge'); // keeps its queue in memory
      await stage.cloud?.stop();
      const load = stage.startLoad({ clean: 0 });
      await load.result();
      await system.kill();
      await system.restart();
      await stage.cloud?.start();
      await stage.sinkBack();
      await stage.cloud?.waitForClient(/^bridge$/);
      const late = stage.startLoad({ clean: 0, 'first-device': 10 });
      await late.result();
      await stage.settle(100, 5000);
      const { verdict, arrived, cleanEnd } = await stage.finish();
      expect(verdict).toMatchObject({ lost: 100, missingUnacked: 0 });
      expect(arrived).toMatchObject({ unique: 100, duplicates: 0, outOfOrder: 0 });
      expect(cleanEnd).toBe(true);
    } finally {
      await stage.close();
    }
  });
});

withBroker.describe('the commands', () => {
  test('print their options', () => {
    for (const command of ['outage', 'peers-loss', 'acknowledge']) {
      expect(bench(`${command}.js`, ['--help'])).toMatch(/^Usage: node bench\/.*--devices .*--out /s);
    }
  });

  test('completes the short form of an outage', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-outage-'));
    try {
      const file = path.join(folder, 'out.json');
      const times = ['--from', '2', '--outage', '2', '--after', '2'];
      const printed = bench('outage.js', ['--devices', '10', '--pin', 'none', '--out', file, ...times]);
      expect(printed).toMatch(/\| system \| sent \|.*\| seganet \| 600 \| 600 \| 0 \|/s);
      const [{ result }] = JSON.parse(fs.readFileSync(file, 'utf8')).runs;
      expect(result).toMatchObject({ cleanEnd: true, verdict: { lost: 0, missingUnacked: 0 } });
      expect(result.memory.length).toBeGreaterThan(5);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});

// Only root may mount; needs() reports it for other users.
const isRoot = process.getuid && process.getuid() === 0;
const withVolumes = needs(...(isRoot ? ['mkfs.ext4', 'losetup'] : ['root']));
withVolumes.test('a volume of its own counts the bytes that reach its device', () => {
  const volume = new Volume('ext4', 16).mount();
  try {
    const file = path.join(volume.folder, 'file');
    fs.writeFileSync(file, Buffer.alloc(100000), { flush: true });
    volume.sync();
    const before = volume.written() ?? 0;
    fs.writeFileSync(file, Buffer.alloc(100000, 1), { flush: true });
    volume.sync();
    const written = (volume.written() ?? 0) - before;
    expect(written).toBeGreaterThanOrEqual(100000);
    expect(written).toBeLessThan(400000); // the file system's overhead is additional
  } finally {
    volume.remove();
  }
});
