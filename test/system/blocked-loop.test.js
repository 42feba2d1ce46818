'use strict';
// A function node that blocks Node-RED's event loop does not delay records on native wires.

const { measure, sleep } = require('../../bench/runs/measure');
const { percentile } = require('../../bench/stats/latency');
const { needs } = require('../../bench/harness/tools');

jest.setTimeout(90000);

const BLOCK_MS = 2000;
const SECONDS = 9;
/** Much longer than a record takes on a busy machine, and much shorter than a block. */
const MOST_MS = 1000;

/** Nodes in addition to those of the gateway's flow. The log counts identical messages instead of repeating them. */
const blocking = [
  { id: 'test-tab', type: 'tab', label: 'blocks' },
  {
    id: 'test-inject',
    type: 'inject',
    z: 'test-tab',
    props: [{ p: 'payload' }],
    payload: '',
    payloadType: 'date',
    repeat: '4',
    once: true,
    onceDelay: '1',
    wires: [['test-block']]
  },
  {
    id: 'test-block',
    type: 'function',
    z: 'test-tab',
    outputs: 0,
    wires: [],
    func: `const end = Date.now() + ${BLOCK_MS};\nwhile (Date.now() < end);\nnode.warn('blocked until ' + end);`
  }
];

needs('mosquitto', 'c++').test('delivers records while a function node blocks the event loop', async () => {
  let output = '';
  const result = await measure('seganet-adaptive', {
    devices: 10,
    rate: 10,
    seconds: SECONDS,
    warmup: 1,
    payload: 200,
    alarmEvery: 2,
    inflight: 64,
    quietMs: 4000,
    drain: 10,
    datatype: 'buffer',
    gatewayCpus: undefined,
    harnessCpus: undefined,
    gatewayEnv: {},
    flow: blocking,
    during: async (_cloud, startMs, { system }) => {
      await sleep(startMs + SECONDS * 1000 - Date.now());
      output = system?.gateway?.output ?? '';
    }
  });
  expect((output.match(/blocked until \d+/g) ?? []).length).toBeGreaterThanOrEqual(2);
  expect(result).toMatchObject({ verdict: { lost: 0 }, cleanEnd: true, arrived: { duplicates: 0 } });
  const alarms = result.samples.filter(({ alarm }) => alarm);
  expect(alarms.length).toBeGreaterThan(300);
  const times = alarms.map(({ intendedMs, arrivedMs }) => arrivedMs - intendedMs);
  expect(percentile(times, 0.99)).toBeLessThan(MOST_MS);
});
