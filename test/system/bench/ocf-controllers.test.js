'use strict';
// The chapter `ocf-controllers` of the benchmark, in short: controllers that observe and ask devices through a gateway,
// how the generator judges notifications, and the report.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { build } = require('../../../bench/harness/build');
const { coapBody, coapFrame, writeList } = require('../../../bench/ocf/coap-bytes');
const { kafkaTools } = require('../../../bench/harness/kafka/broker');
const { needs } = require('../../../bench/harness/tools');
const { mergeBuckets } = require('../../../bench/stats/buckets');
const chapter = require('../../../bench/chapters/ocf-controllers');

jest.setTimeout(90000);

/** @type {import('../../../bench/options/chapter').Plan} */
const plan = {
  rounds: 1,
  seconds: 5,
  warmup: 1,
  quick: true,
  all: false,
  only: [],
  systems: ['mqtt'],
  sizes: {},
  env: {},
  openFiles: 1024
};

/** @param {object} more @returns {Promise<any>} the result of the case with three controllers */
async function measure(more) {
  const cases = chapter.cases({ ...plan, ...more });
  const found = cases.find(({ key }) => key.startsWith('controllers-3/'));
  return found?.run({ round: 0, previous: [], signal: new AbortController().signal });
}

/** @param {any} result */
function expectWhole({ steady, requests, paper, lost }) {
  for (const load of [steady, paper]) {
    expect(load).toMatchObject({ refused: 0, unsent: 0, stale: 0, unreadable: 0 });
    expect(load).toMatchObject({ failed: 0, connectionLosses: 0, probesLost: 0 });
    expect(load.sent).toBeGreaterThan(0);
    expect(load.answered).toBe(load.sent);
    // Each of the three controllers has each post of each device.
    expect(load.notices - load.backward + load.skipped).toBe(3 * load.sent);
    expect(load.noticeUs.count).toBe(load.notices);
    expect(load.rssMB.gateway).toBeGreaterThan(10);
  }
  expect(requests).toMatchObject({ refused: 0, unsent: 0, connectionLosses: 0 });
  expect(requests.answered).toBe(requests.sent);
  // Those of the warm-up, too.
  expect(requests.served).toBeGreaterThanOrEqual(requests.sent);
  expect(lost).toBe(0);
}

needs('mosquitto', 'c++').test('controllers get each post of each device, and ask the devices', async () => {
  const result = await measure({});
  expectWhole(result);
  for (const load of [result.steady, result.paper]) {
    expect(load).toMatchObject({ skipped: 0, backward: 0 });
  }
  expect(result.steady.rssMB.mosquitto).toBeGreaterThan(1);
  const { ratios, warnings } = chapter.report(
    [{ chapter: 'ocf-controllers', key: 'controllers-3/mqtt', round: 0, result }],
    plan
  );
  expect(ratios.filter(({ target, median }) => target === '≤ 0' && median !== 0)).toEqual([]);
  expect(warnings).toEqual([]);
});

needs('mosquitto', 'c++', ...kafkaTools()).test('the same with records in Kafka', async () => {
  const result = await measure({ systems: ['kafka'] });
  expectWhole(result);
  expect(result.paper.rssMB.kafka).toBeGreaterThan(50);
});

const { describe: withCompiler } = needs('c++');
withCompiler('the CoAP generator as a controller and as a device that is asked', () => {
  /** @type {string} */
  let folder;
  beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-coapgen-'))));
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  /**
   * Runs it in the mode `hold` against a server that answers its hello and sends `frames`.
   * @param {(token: Buffer) => Buffer[]} framesOf
   */
  async function hold(framesOf) {
    /** @type {Buffer[]} */
    const received = [];
    const server = net.createServer((socket) => {
      let isAnswered = false;
      socket.on('error', () => {});
      socket.on('data', (data) => {
        received.push(data);
        // The CSM and the hello may come apart.
        if (isAnswered || Buffer.concat(received).length < 5) return;
        isAnswered = true;
        socket.write(coapFrame(0x45, Buffer.alloc(0)));
        setTimeout(() => {
          socket.write(Buffer.concat(framesOf(Buffer.from([0, 7]))));
          setTimeout(() => child.kill('SIGTERM'), 300);
        }, 100);
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    const hellos = writeList(path.join(folder, 'hellos'), [coapFrame(1, coapBody([[11, 'a']]))]);
    const options = { port, devices: 1, hellos, mode: 'hold', seconds: 60, drain: 0, 'notices-below': 100 };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const child = new Child(build('coapgen'), flags);
    await child.exited;
    await new Promise((resolve) => server.close(resolve));
    return { received: Buffer.concat(received), lines: child.jsonLines() };
  }

  /** @param {number} device @param {number} seq */
  function body(device, seq) {
    const number = String(device).padStart(5, '0');
    const record = `{"device":"dev-${number}","seq":${seq},"k":0,"us":${Date.now() * 1000}}`;
    return coapBody([[6, Buffer.from([1])]], Buffer.from(record));
  }

  test('counts notifications, what was skipped between them, and what went wrong', async () => {
    const { lines } = await hold((token) => [
      coapFrame(0x45, body(1, 0), token),
      coapFrame(0x45, body(1, 3), token),
      coapFrame(0x45, body(1, 2), token),
      coapFrame(0x45, body(2, 2), token),
      coapFrame(0x45, body(100, 0), token), // of the warm-up
      coapFrame(0x45, coapBody([], Buffer.from('no record')), token),
      coapFrame(0x84, Buffer.alloc(0), token)
    ]);
    const result = lines.at(-1);
    expect(result).toMatchObject({ notices: 4, skipped: 4, backward: 1, unreadable: 1, failedNotices: 1 });
    expect(result.reached).toEqual([
      [1, 1, 3],
      [2, 1, 2]
    ]);
    expect(result.noticeUs.count).toBe(4);
    expect(lines.find(({ event }) => event === 'notices')).toMatchObject({ count: 4 });
  });

  test('answers the requests of others', async () => {
    const { received, lines } = await hold((token) => [coapFrame(1, coapBody([[11, 'x']]), token)]);
    expect(lines.at(-1)).toMatchObject({ requestsAnswered: 1 });
    const answer = Buffer.from([0x45, 0, 7, 0xc2, 0x27, 0x10, 0xff, 0xa1, 0x61, 0x76, 1]);
    expect(received.includes(answer)).toBe(true);
  });

  test('refuses a path with a target without a list of targets', async () => {
    const child = new Child(build('coapgen'), ['--path', 'a/{to}']);
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.output).toContain('needs --targets');
  });
});

test('merges the histograms of several processes', () => {
  const first = /** @type {[number, number][]} */ ([[10, 90]]);
  const second = /** @type {[number, number][]} */ ([
    [10, 8],
    [50, 1],
    [90, 1]
  ]);
  expect(mergeBuckets([first, second])).toEqual({ count: 100, p50: 10, p99: 50, max: 90 });
  expect(mergeBuckets([])).toEqual({ count: 0, p50: undefined, p99: undefined, max: undefined });
});

test('has the controllers of the issue, the paper’s table, and names what went wrong', () => {
  const keys = chapter
    .cases({ ...plan, quick: false, systems: [] })
    .map(({ key }) => key)
    .filter((key) => key.endsWith('mqtt'));
  expect(keys).toEqual([0, 1, 10, 50, 100].map((count) => `controllers-${count}/mqtt`));
  const load = {
    seconds: 2,
    sent: 100,
    unsent: 0,
    answered: 90,
    answeredInTime: 90,
    refused: 10,
    answerUs: { p50: 1000, p99: 30000, max: 40000 },
    probeUs: { p50: 1000, p99: 5000, max: 6000 },
    probesLost: 0,
    notices: 1500,
    noticesInTime: 1400,
    expected: 2000,
    noticeUs: { count: 1500, p50: 2000, p99: 30000, max: 40000 },
    skipped: 500,
    backward: 0,
    unreadable: 0,
    failed: 0,
    stale: 2,
    connectionLosses: 1,
    generatorCores: 0.9,
    cores: { gateway: 1, mosquitto: 0.1 },
    rssMB: { gateway: 200, mosquitto: 10 },
    threads: [
      { name: 'MainThread', cores: 0.6 },
      { name: 'seganet-w0', cores: 0.3 }
    ]
  };
  const result = { devices: 100, steady: load, requests: { ...load, stale: 0 }, paper: load, lost: 3 };
  const { markdown, ratios, warnings } = chapter.report(
    [{ chapter: 'ocf-controllers', key: 'controllers-20/mqtt', round: 0, result }],
    plan
  );
  expect(markdown).toContain('| paper: 500 devices, no controllers, Kafka | 595406.2 | not measured |');
  expect(markdown).toContain('| here: 100 devices, 20 controllers, mosquitto | 45 | 700 |');
  expect(ratios.map(({ median }) => median)).toEqual([30, 513, 30, 10, 13, 3]);
  expect(warnings.slice(0, 4)).toEqual([
    'controllers-20/mqtt, steady, round 1: the generator used more than 85 % of its core and may have been the limit.',
    'controllers-20/mqtt, steady, round 1: 10 requests had no 2.xx (10 were refused).',
    'controllers-20/mqtt, steady, round 1: the last posts of 2 devices did not reach all controllers.',
    'controllers-20/mqtt, steady, round 1: 1 connections were lost.'
  ]);
});
