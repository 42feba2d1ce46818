'use strict';
// The cloud goes away under load and comes back; the gateway ends under load. The benchmark's generator and sink do the
// counting (test/system/bench/bench.test.js checks them).

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { build } = require('../../bench/harness/build');
const { compareStreams } = require('../../bench/harness/compare');
const { measure, sleep } = require('../../bench/runs/measure');
const { Child } = require('../../bench/harness/child');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto', 'c++');

jest.setTimeout(90000);

const profile = {
  devices: 100,
  rate: 20,
  seconds: 12,
  warmup: 1,
  payload: 200,
  alarmEvery: 10,
  inflight: 64,
  quietMs: 10000,
  drain: 30,
  gatewayCpus: undefined,
  harnessCpus: undefined,
  datatype: 'buffer',
  gatewayEnv: {}
};

/** @param {number} fromSecond @param {number} seconds @param {NodeJS.Signals} [signal] */
const outage =
  (fromSecond, seconds, signal = 'SIGTERM') =>
  /** @param {import('../../bench/harness/cloud').Cloud} cloud @param {number} startMs */
  async (cloud, startMs) => {
    await sleep(startMs + fromSecond * 1000 - Date.now());
    await cloud.stop(signal);
    await sleep(startMs + (fromSecond + seconds) * 1000 - Date.now());
    await cloud.start();
  };

/** The invariants of every outage of the cloud. @param {import('../../bench/runs/measure').Result} result */
function expectNothingLost({ sent, arrived, verdict, cleanEnd }) {
  expect(verdict).toMatchObject({ lost: 0, missingUnacked: 0 });
  expect(arrived).toMatchObject({ outOfOrder: 0, badLines: 0, badRecords: 0, mixedEnvelopes: 0 });
  expect(sent).toMatchObject({ unacked: 0, unsent: 0, connectionLosses: 0, protocolErrors: 0 });
  expect(sent).toMatchObject({ acksOutOfOrder: 0, acksUnknown: 0 });
  expect(sent.acked).toBe(sent.sent);
  expect(cleanEnd).toBe(true);
}

describe('the cloud stops for 5 s under load', () => {
  test('loses no acknowledged record, keeps the order, and drops no device', async () => {
    const result = await measure('seganet', { ...profile, during: outage(3, 5) });
    expectNothingLost(result);
    expect(result.sent.sent).toBe(24000);
    expect(result.arrived.latencyUs.normal.max).toBeGreaterThan(4000000);
  });

  test('keeps the same promises in records mode', async () => {
    const result = await measure('seganet-records', { ...profile, seconds: 10, during: outage(2, 5) });
    expectNothingLost(result);
    expect(result.arrived.envelopes).toBe(0);
  });

  test('slows devices, drops none, and bounds memory with 1 MiB for records and no log', async () => {
    const result = await measure('seganet', {
      ...profile,
      rate: 50,
      payload: 4096,
      inflight: 1000,
      // 20 MB/s for 5 s: a hundred times the budget, and far more than Node's heap varies.
      gatewayEnv: { SEGANET_MEMORY_MIB: '1', SEGANET_ACKNOWLEDGE: 'received' },
      during: outage(3, 5)
    });
    expectNothingLost(result);
    expect(result.sent.late).toBeGreaterThan(1000);
    expect(result.sent.ackUs.max).toBeGreaterThan(1000000);
    /** @param {number} from @param {number} to */
    const highest = (from, to) =>
      Math.max(
        ...result.memory.filter(({ second }) => second >= from && second <= to).map(({ rssMB }) => rssMB)
      );
    expect(highest(4, 8) - highest(0, 3)).toBeLessThan(50);
  });
});

describe('SIGTERM under load', () => {
  test('exits with 0, and every acknowledged record arrived', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
    const sinkFile = path.join(folder, 'sink.json');
    const loadFile = path.join(folder, 'load.json');
    const cloud = await startCloud();
    const gateway = await startGateway(cloud);
    const sink = new Child(build('sink'), ['--port', String(cloud.plainPort), '--out', sinkFile]);
    const shape = ['--devices', '100', '--rate', '20', '--seconds', '30', '--out', loadFile];
    const load = new Child(build('loadgen'), ['--port', String(gateway.port), ...shape]);
    try {
      await sink.until((output) => output.includes('"ready"'));
      await sink.until(() => sink.jsonLines().some(({ unique }) => unique > 2000), 20000);
      expect(await gateway.stop()).toEqual({ code: 0, signal: null });
      await load.stop();
      // Records that the cloud has acknowledged are already in flight to the sink: waits for one full second of
      // silence.
      let last = -1;
      for (let unique = 0; unique !== last; await sleep(1000)) {
        last = unique;
        unique = sink
          .jsonLines()
          .filter(({ event }) => event === 'progress')
          .pop().unique;
      }
      await sink.stop();
      const sent = JSON.parse(fs.readFileSync(loadFile, 'utf8'));
      const arrived = JSON.parse(fs.readFileSync(sinkFile, 'utf8'));
      expect(sent.acked).toBeGreaterThan(2000);
      expect(compareStreams(sent.streams, arrived.streams)).toMatchObject({ lost: 0, examples: [] });
      expect(arrived.outOfOrder).toBe(0);
    } finally {
      for (const child of [load, sink]) await child.stop();
      await gateway.stop();
      await cloud.close();
      fs.rmSync(folder, { recursive: true });
    }
  });
});
