'use strict';
// The systems that the gateway is compared with, against a real broker: each delivers the messages that it
// acknowledged, in order, and a fault shows.

const fs = require('node:fs');
const path = require('node:path');
const { build } = require('../../../bench/harness/build');
const { compareStreams } = require('../../../bench/harness/compare');
const { Stage } = require('../../../bench/runs/stage');
const { makeCertificates } = require('../../../bench/harness/certificates');
const { Child } = require('../../../bench/harness/child');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(90000);

/** @type {import('../../../bench/runs/measure').Profile} */
const profile = {
  devices: 5,
  rate: 40,
  seconds: 1,
  warmup: 0,
  payload: 200,
  alarmEvery: 10,
  inflight: 64,
  quietMs: 4000,
  drain: 15,
  gatewayCpus: undefined,
  harnessCpus: undefined,
  datatype: 'buffer',
  gatewayEnv: {}
};

/** @param {(stage: Stage) => Promise<void>} body */
async function onStage(body) {
  const stage = new Stage(profile);
  try {
    await stage.open();
    await body(stage);
  } finally {
    await stage.close();
  }
}

/** @param {string} system */
const loads = async (system) => {
  await onStage(async (stage) => {
    await stage.startSystem(system);
    await stage.startLoad({ seconds: 0.5 }).result();
    await stage.settle(100, 4000);
    const { verdict, arrived, sent, cleanEnd } = await stage.finish();
    expect(sent[0]).toMatchObject({ acked: 100, acksOutOfOrder: 0, acksUnknown: 0, protocolErrors: 0 });
    expect(verdict).toMatchObject({ lost: 0, missingUnacked: 0 });
    expect(arrived).toMatchObject({ unique: 100, duplicates: 0, outOfOrder: 0, badRecords: 0 });
    expect(arrived.publishes).toBe(100); // each message alone
    expect(cleanEnd).toBe(true);
  });
};

/** Takes the cloud away and back under load. @param {string} system @returns {Promise<number>} records out of order */
const survives = async (system) => {
  let outOfOrder = NaN;
  await onStage(async (stage) => {
    await stage.startSystem(system);
    const load = await stage.startLoad({ seconds: 2, 'progress-ms': 50 }).started();
    await load.child.until(() => load.progress().some(({ acked }) => acked > 50), 20000);
    await stage.cloud?.stop();
    await stage.cloud?.start();
    await load.result();
    await stage.settle(400, 5000);
    const { verdict, arrived, sent } = await stage.finish();
    expect(sent[0]).toMatchObject({ acked: 400, acksOutOfOrder: 0, protocolErrors: 0 });
    expect(verdict).toMatchObject({ lost: 0, missingUnacked: 0 });
    expect(arrived.unique).toBe(400);
    ({ outOfOrder } = arrived);
  });
  return outOfOrder;
};

const native = needs('mosquitto', 'c++');
native.describe('an agent for each device', () => {
  test.each(['agents', 'agents-processes'])('%s deliver each message alone, in order, none lost', loads);

  test.each(['agents', 'agents-processes'])(
    '%s reconnect after a cloud outage and lose nothing, nor its order',
    async (system) => expect(await survives(system)).toBe(0)
  );

  test('takes its device back, and the device sends unacknowledged messages again', () =>
    onStage(async (stage) => {
      const system = await stage.startSystem('agents');
      await stage.startLoad({ clean: 0 }).result();
      await stage.cloud?.stop();
      // The sessions are lost; nothing is acknowledged, and the generator gives up.
      const held = await stage.startLoad({ 'first-device': 10, seconds: 0.5, drain: 1 }).result();
      expect(held).toMatchObject({ sent: 100, acked: 0 });
      // The agents' data are lost with them: no device had an acknowledgement.
      await system.kill();
      await stage.cloud?.start();
      await stage.sinkBack();
      await system.restart();
      await stage.startLoad({ 'first-device': 20 }).result();
      await stage.settle(400, 4000);
      const { verdict, arrived } = await stage.finish();
      expect(verdict).toMatchObject({ lost: 0, missingUnacked: 100 });
      expect(arrived).toMatchObject({ unique: 400, outOfOrder: 0 });
    }));

  test('refuses to publish for an unknown cloud', () =>
    onStage(async (stage) => {
      const { cloud } = stage;
      if (!cloud) throw new Error('no cloud');
      const other = path.join(stage.folder, 'other');
      fs.mkdirSync(other);
      cloud.files = { ...cloud.files, ca: makeCertificates(other).ca };
      await stage.startSystem('agents');
      const result = await stage.startLoad({ seconds: 0.2, drain: 1 }).result();
      expect(result.acked).toBe(0);
    }));
});

const python = needs('mosquitto', 'c++', 'python:paho');
python.describe('a Python process for each device', () => {
  python.test('delivers each message alone, in order, none lost', () => loads('agents-paho'));
  // Not in order: paho-mqtt publishes new messages while it still repeats old ones.
  python.test('reconnects after a cloud outage and loses nothing', async () => {
    await survives('agents-paho');
  });
});

native.describe('the lower bound', () => {
  test('acknowledges everything, in order, and forwards nothing', () =>
    onStage(async (stage) => {
      await stage.startSystem('bare');
      const result = await stage.startLoad({ rate: 400 }).result();
      expect(result).toMatchObject({ acked: 2000, acksOutOfOrder: 0, acksUnknown: 0, protocolErrors: 0 });
      const { verdict, arrived, cleanEnd } = await stage.finish();
      expect(verdict).toBeUndefined();
      expect(arrived.records).toBe(0);
      expect(cleanEnd).toBe(true);
    }));
});

native.describe('the plain publisher', () => {
  /** @param {Stage} stage @param {Record<string, string | number>} options */
  async function publish(stage, options) {
    const { cloud } = stage;
    if (!cloud) throw new Error('no cloud');
    const flags = { host: cloud.host, port: cloud.tlsPort, ca: cloud.files.ca, device: 3, ...options };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = new Child(build('cpub'), args, { name: 'cpub' });
    stage.tools.push(child);
    const { code } = await child.exited;
    return { code, ...child.jsonLines().pop(), output: child.output };
  }

  /** @param {number} sent @returns {import('../../../bench/harness/compare').SentStream[]} */
  const streams = (sent) => [{ device: 3, kind: 0, issued: sent, unacked: [] }];

  test('delivers everything in order at its maximum and at a rate, alone and together, and reports its work', () =>
    onStage(async (stage) => {
      const results = [
        await publish(stage, { device: 3, seconds: 0.2 }),
        await publish(stage, { device: 4, seconds: 0.2, coalesce: 1, window: 64 }),
        await publish(stage, { device: 5, seconds: 0.5, rate: 1000, window: 1000 }),
        await publish(stage, {
          device: 6,
          seconds: 0.5,
          rate: 1000,
          window: 1000,
          coalesce: 1,
          'tick-us': 10000
        })
      ];
      const all = results.reduce((sum, { sent }) => sum + sent, 0);
      await stage.settle(all, 4000);
      const { arrived } = await stage.finish();
      expect(arrived).toMatchObject({ unique: all, duplicates: 0, outOfOrder: 0, badRecords: 0 });
      for (const { code, unacked, cpuUs, userUs, sysUs } of results) {
        expect({ code, unacked }).toEqual({ code: 0, unacked: 0 });
        expect(cpuUs).toBeCloseTo(userUs + sysUs, 1);
      }
      const [single, window, paced, ticks] = results;
      expect(single.writes).toBe(single.sent);
      expect(window.writes).toBeLessThanOrEqual(Math.ceil(window.sent / 32));
      expect(paced.writes).toBe(paced.sent);
      expect(ticks.writes).toBeLessThanOrEqual(51);
      for (const { sent } of [paced, ticks]) {
        expect(sent).toBeGreaterThan(25);
        expect(sent).toBeLessThanOrEqual(500);
      }
    }));

  test('notices a killed broker: it fails, and reports unacknowledged messages', () =>
    onStage(async (stage) => {
      const done = publish(stage, { seconds: 20, rate: 2000 });
      await stage.sink?.until(() => stage.arrivedSoFar().unique > 100, 20000);
      await stage.cloud?.stop('SIGKILL'); // and with it the data that it had not passed on
      const result = await done;
      expect(result.code).toBe(1);
      expect(result.output).toContain('the session broke');
      await stage.sink?.stop();
      const file = JSON.parse(fs.readFileSync(stage.sinkFile, 'utf8'));
      const { lost } = compareStreams(streams(result.sent), file.streams);
      expect(lost).toBe(result.sent - file.unique);
    }));
});
