'use strict';
// The chapter `ocf` of the benchmark, in short: its parts against one gateway, its generator, and its report.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { build } = require('../../../bench/harness/build');
const { coapBody, coapFrame, payloadOf, readList, writeList } = require('../../../bench/ocf/coap-bytes');
const { kafkaTools } = require('../../../bench/harness/kafka/broker');
const { needs } = require('../../../bench/harness/tools');
const chapter = require('../../../bench/chapters/ocf');
const { fillStore } = require('../../../bench/ocf/directory');
const { startOcf } = require('../../../bench/ocf/ocf-stage');
const { posts, settle } = require('../../../bench/ocf/posts');
const { discovery, idle, storm } = require('../../../bench/ocf/sessions');

jest.setTimeout(90000);

/** @type {import('../../../bench/options/chapter').Plan} */
const plan = {
  rounds: 1,
  seconds: 0.5,
  warmup: 0,
  quick: true,
  all: false,
  only: [],
  systems: [],
  sizes: { devices: 4 },
  env: {},
  openFiles: 1024
};
const short = { devices: 4, rate: 200, seconds: 0.5, warmup: 0.2 };

/** @param {any} run */
const expectAllAnswered = ({ load }) => {
  expect(load).toMatchObject({ refused: 0, unsent: 0, unknown: 0, connectionLosses: 0, requestBytes: 109 });
  expect(load.sent).toBeGreaterThan(0);
  expect(load.answered).toBe(load.sent);
  // The kernel counts in steps of 10 ms.
  expect(load.gatewayCpuSeconds).toBeGreaterThanOrEqual(0);
};

needs('mosquitto', 'c++').describe('the parts of the chapter, with signed-in devices', () => {
  /** @type {import('../../../bench/ocf/ocf-stage').OcfStage} */
  let stage;
  /** @type {import('../../../bench/ocf/fleet').Account[]} */
  let accounts;

  beforeAll(async () => {
    const fill = async (/** @type {string} */ file) => {
      ({ accounts } = await fillStore(file, { devices: 40, links: 3, ofUser: 10, accounts: 12 }));
    };
    stage = await startOcf(plan, { fill });
  });
  afterAll(() => stage?.close());

  test('a storm of sign-ups, and of sign-ins with published links', async () => {
    const { signUp, signIn } = await storm(stage, { devices: 10, links: 3 });
    for (const { seconds, helloUs } of [signUp, signIn]) {
      expect(helloUs.count).toBe(10);
      expect(seconds * 1e6).toBeGreaterThanOrEqual(helloUs.max);
    }
  });

  test('idle sessions, and their memory', async () => {
    const found = await idle(stage, { accounts, warm: 2, settleMs: 100 });
    expect(found).toMatchObject({ sessions: 10, warm: 2, connectionLosses: 0 });
    expect(found.after.rss).toBeGreaterThan(1e6);
  });

  test('discovery finds the links of the user', async () => {
    const controllers = accounts.slice(0, 3);
    const options = { accounts: controllers, type: 'bench.type.1', rate: 50, seconds: 0.5, warmup: 0 };
    const { load } = await discovery(stage, options);
    expect(load.answered).toBe(load.sent);
    // Ten devices of the user, each with one such link that has the device's id twice.
    expect(load.responseBytes).toBeGreaterThan(10 * 2 * 36);
  });

  test('posts on one connection, in a burst, and at random times: all answered, all arrived', async () => {
    const shared = await posts(stage, { ...short, shared: true, first: 100 });
    expect(shared.load).toMatchObject({ connections: 1, devices: 4 });
    const burst = await posts(stage, { ...short, burst: 200, first: 200 });
    expect(burst.load).toMatchObject({ sent: 200 });
    expect(burst.load.lastAnsweredUs).toBeGreaterThanOrEqual(burst.load.lastSentUs);
    const own = await posts(stage, short);
    expect(own.load).toMatchObject({ connections: 4 });
    for (const run of [shared, burst, own]) expectAllAnswered(run);
    const answered = shared.answered + burst.answered + own.answered;
    const arrived = await settle(stage, { ...own, answered });
    expect(arrived).toMatchObject({ lost: 0, duplicates: 0, broken: 0 });
    expect(arrived.arrivalUs?.count).toBeGreaterThan(0);
  });
});

needs('mosquitto', 'c++', ...kafkaTools()).test('posts arrive in Kafka', async () => {
  const stage = await startOcf(plan, { kafka: true });
  try {
    const run = await posts(stage, short);
    expectAllAnswered(run);
    const arrived = await settle(stage, run);
    expect(arrived).toMatchObject({ lost: 0, broken: 0, records: run.answered });
    expect(arrived.arrivalUs?.count).toBe(run.load.answered);
  } finally {
    await stage.close();
  }
});

const { describe: withCompiler } = needs('c++');
withCompiler('the CoAP generator over TCP', () => {
  /** @type {string} */
  let folder;
  beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-coapgen-'))));
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  /**
   * Runs it against a server that answers each frame of less than 269 bytes.
   * @param {(code: number, token: Buffer, body: Buffer, index: number) => [code: number, body: Buffer] | null} answer
   *   null: closes the connection
   * @param {Record<string, string | number>} options
   */
  async function run(answer, options) {
    let index = 0;
    const server = net.createServer((socket) => {
      let bytes = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (data) => {
        bytes = Buffer.concat([bytes, data]);
        for (;;) {
          const isLong = bytes[0] >> 4 === 13;
          const at = isLong ? 2 : 1;
          const size = at + 1 + (bytes[0] & 15) + (isLong ? bytes[1] + 13 : bytes[0] >> 4);
          if (bytes.length < at || bytes.length < size) return;
          const code = bytes[at];
          const token = bytes.subarray(at + 1, at + 1 + (bytes[0] & 15));
          const body = bytes.subarray(at + 1 + token.length, size);
          bytes = bytes.subarray(size);
          if (code >> 5 !== 0) continue;
          const made = answer(code, token, body, index++);
          if (!made) socket.destroy();
          else {
            const head = [(made[1].length << 4) | token.length, made[0]];
            socket.write(Buffer.concat([Buffer.from(head), token, made[1]]));
          }
        }
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    const flags = Object.entries({ port, ...options }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const child = new Child(build('coapgen'), flags);
    const { code } = await child.exited;
    await new Promise((resolve) => server.close(resolve));
    return { code, output: child.output, result: child.jsonLines().pop() };
  }

  const hello = (/** @type {string} */ segment) => coapFrame(2, coapBody([[11, segment]]));

  test('sends each hello after the answer to the one before, and keeps the answers', async () => {
    const hellos = writeList(
      path.join(folder, 'hellos'),
      ['a1', 'a2', 'b1', 'b2'].map((segment) => hello(segment))
    );
    const answers = path.join(folder, 'answers');
    /** @type {string[]} */
    const seen = [];
    const { code, result } = await run(
      (_code, _token, body) => {
        const segment = body.subarray(1, 3).toString();
        seen.push(segment);
        return [0x44, coapBody([[12, Buffer.from([60])]], Buffer.from(segment))];
      },
      { devices: 2, hellos, answers, 'hello-steps': 2, 'hellos-at-once': 1, mode: 'hold', seconds: 0.1 }
    );
    expect(code).toBe(0);
    expect(seen).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(readList(answers).map((body) => payloadOf(body).toString())).toEqual(seen);
    expect(result).toMatchObject({ sent: 0, helloUs: { count: 2 } });
  });

  test('ends if a hello is refused, and names the code', async () => {
    const hellos = writeList(path.join(folder, 'hellos'), [hello('a1')]);
    const { code, output } = await run(() => [0x81, Buffer.alloc(0)], { devices: 1, hellos });
    expect(code).toBe(1);
    expect(output).toContain('the answer to a hello was 4.01');
  });

  test('refuses too few hellos', async () => {
    const hellos = writeList(path.join(folder, 'hellos'), [hello('a1')]);
    const { code, output } = await run(() => null, { devices: 2, hellos });
    expect(code).toBe(2);
    expect(output).toContain('2 are needed');
  });

  test('shares a connection among devices, with one window, and posts CBOR maps of the wanted size', async () => {
    /** @type {Set<string>} */
    const names = new Set();
    let most = 0;
    let open = 0;
    const { result } = await run(
      (_code, token, body) => {
        most = Math.max(most, ++open);
        setImmediate(() => open--);
        const payload = payloadOf(body);
        expect([...payload.subarray(0, 4)]).toEqual([0xa1, 0x61, 0x72, 0x78]);
        expect(payload.length).toBe(5 + payload[4]);
        names.add(JSON.parse(payload.subarray(5).toString()).device);
        expect(token.length).toBe(4);
        return [0x44, Buffer.alloc(0)];
      },
      {
        devices: 3,
        connections: 1,
        mode: 'burst',
        burst: 100,
        window: 7,
        body: 'cbor',
        'content-format': 10000
      }
    );
    expect(result).toMatchObject({ connections: 1, sent: 100, answered: 100, unsent: 0, requestBytes: 109 });
    expect([...names].sort()).toEqual(['dev-00000', 'dev-00001', 'dev-00002']);
    expect(most).toBeLessThanOrEqual(7);
    const issued = result.streams.map((/** @type {any} */ stream) => stream.issued);
    expect(issued.reduce((/** @type {number} */ sum, /** @type {number} */ n) => sum + n)).toBe(100);
  });
});

test('reports figures with their goals, and what went wrong', () => {
  const load = {
    sent: 1000,
    unsent: 0,
    answered: 990,
    answeredInTime: 990,
    refused: 4,
    unavailable: 4,
    seconds: 1,
    answerUs: { p50: 1000, p99: 12000, max: 20000 },
    cpuSeconds: 0.9,
    cores: 0.5,
    gatewayCpuSeconds: 0.5,
    rssMB: 100,
    requestBytes: 109,
    responseBytes: 6,
    connectionLosses: 0
  };
  const arrived = { lost: 2, duplicates: 0, broken: 0, arrivalUs: { p50: 2000, p99: 30000 } };
  const outcomes = [
    { chapter: 'ocf', key: 'poisson-100/kafka', round: 0, result: { load, arrived } },
    { chapter: 'ocf', key: 'idle-10', round: 0, result: { rssBytes: 4096, before: {}, after: {} } },
    { chapter: 'ocf', key: 'storm-10', round: 0, error: 'failed' }
  ];
  const { ratios, warnings, markdown } = chapter.report(outcomes, plan);
  expect(ratios.map(({ name, target, median }) => [name, target, median])).toEqual([
    ['OCF, 100 devices: p99 of 2.04 in ms, Kafka', '≤ 25', 12],
    ['OCF, 100 devices: p99 of arrival in Kafka in ms', '≤ 25', 30],
    ['OCF, 100 devices: requests without 2.04, and acknowledged records lost (kafka)', '≤ 0', 12],
    ['OCF, 10 devices: KB of resident memory an idle session', '≤ 8', 4]
  ]);
  expect(warnings).toEqual([
    'poisson-100/kafka, round 1: the generator used more than 85 % of its core and may have been the limit.',
    'poisson-100/kafka, round 1: 4 requests were refused (4 with 5.03).',
    'poisson-100/kafka, round 1: 6 requests had no answer.',
    'poisson-100/kafka, round 1: 2 acknowledged records were lost.'
  ]);
  expect(markdown).toContain('| 100 | 1000 | 990 | 1.00 | 12.00 |');
});

test('has the paper’s list with --all, and one case of each kind without', () => {
  const keys = (/** @type {object} */ more) => chapter.cases({ ...plan, ...more }).map(({ key }) => key);
  const systems = ['mqtt', 'burst', 'storm'];
  expect(keys({ systems, sizes: {}, all: true, quick: false })).toEqual([
    ...[1, 10, 100, 500, 1000].map((n) => `poisson-${n}/mqtt`),
    ...[1, 10, 100, 500, 1000].map((n) => `burst-${n}/mqtt`),
    'storm-1000'
  ]);
  expect(keys({ systems })).toEqual(['poisson-4/mqtt', 'burst-4/mqtt', 'storm-4']);
  const lacking = chapter.lacking?.({ ...plan, systems: ['idle'], sizes: { devices: 1e8 } }) ?? [];
  expect(lacking[0].why).toMatch(/raise it with ulimit -Hn/);
});
