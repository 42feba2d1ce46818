'use strict';
// The CoAP chapter of the benchmark, in short: both transports, both modes, and the faults that it must notice.

const chapter = require('../../../bench/chapters/coap');
const { runGateway, runServer } = require('../../../bench/runs/coap-run');
const { servers } = require('../../../bench/runs/coap-servers');
const { needs } = require('../../../bench/harness/tools');

const { test: withBroker } = needs('mosquitto');
const { test: withCompiler } = needs('c++');

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
  sizes: { devices: 5 },
  env: {},
  openFiles: 1024
};
const common = { devices: 5, seconds: 0.5, 'request-bytes': 109 };
const closed = () => ({ ...common, mode: 'closed', window: 4 });
/** @param {any} most */
const part = (most) => ({ ...common, first: 5, rate: Math.max(1, Math.round(most.answered * 0.2)) });

withCompiler('measures the maximum and a part of it, against a server that does nothing', async () => {
  const bare = servers.filter(({ name }) => name === 'bare')[0];
  const { steps } = await runServer(plan, bare, 'tcp', [closed, part]);
  expect(steps).toHaveLength(2);
  for (const load of steps) {
    expect(load).toMatchObject({ refused: 0, unknown: 0, unsent: 0, connectionLosses: 0, requestBytes: 109 });
    expect(load.answered).toBe(load.sent);
    expect(load.answered).toBeGreaterThan(0);
    expect(load.serverCpuSeconds).toBeGreaterThan(0);
  }
});

for (const transport of /** @type {const} */ (['tcp', 'udp'])) {
  withBroker(`delivers every answered record over ${transport}`, async () => {
    const steps = [
      () => ({ ...closed(), transport }),
      (/** @type {any} */ most) => ({ ...part(most), transport })
    ];
    const { steps: made, verdict } = await runGateway(plan, transport, {}, steps);
    expect(verdict).toMatchObject({ lost: 0 });
    for (const load of made) expect(load).toMatchObject({ refused: 0, unknown: 0, unsent: 0 });
    expect(made[0].answered).toBeGreaterThan(0);
  });
}

withBroker('does not count refused requests as answered', async () => {
  const wrong = () => ({ ...common, transport: 'udp', rate: 20, path: 'nowhere/x' });
  const { steps } = await runGateway(plan, 'udp', {}, [wrong]);
  expect(steps[0].answered).toBe(0);
  expect(steps[0].refused).toBeGreaterThan(0);
});

test('pairs runs of the same round in the report and marks where the generator was the limit', () => {
  /** @param {number} answered @param {number} busy */
  const result = (answered, busy) => ({
    steps: [
      {
        answered,
        answeredInTime: answered,
        seconds: 1,
        serverCpuSeconds: 0.5,
        cores: 0.5,
        cpuSeconds: busy,
        refused: 0,
        sentAgain: 0,
        connectionLosses: 0,
        answerUs: { p50: 1, p99: 2 }
      }
    ]
  });
  const outcomes = [
    { chapter: 'coap', key: 'udp/seganet', round: 0, result: result(30000, 0.5) },
    { chapter: 'coap', key: 'udp/node-coap', round: 0, result: result(2000, 0.1) },
    { chapter: 'coap', key: 'tcp/bare', round: 0, result: result(90000, 0.97) }
  ];
  const { ratios, warnings, markdown } = chapter.report(outcomes, plan);
  expect(ratios).toEqual([
    {
      name: 'CoAP requests/s over UDP, SegaNet, answers when safe / node-coap',
      target: '≥ 10',
      median: 15,
      low: 15,
      high: 15
    }
  ]);
  expect(warnings).toEqual([
    'tcp/bare, round 1: the generator used more than 85 % of its core and may have been the limit.'
  ]);
  expect(markdown).toContain('node-coap (Node.js)');
});
