'use strict';
// seganet-gateway shadow, at a gateway that runs.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { startFlow } = require('../fixtures/gateway/deployed');

jest.setTimeout(120000);

const COMMAND = path.join(__dirname, '../../flows/cli/seganet-gateway.js');
const at = { z: 'tab', x: 100, y: 100 };
const FLOW = [
  { id: 'tab', type: 'tab', label: 'shadow' },
  { id: 'engine', type: 'seganet-engine', workers: '1' },
  {
    ...at,
    id: 'shadow',
    type: 'seganet-shadow',
    engine: 'engine',
    devices: 'p*',
    maxBytes: '256',
    wires: [[], []]
  },
  { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
  { ...at, id: 'cloud', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] }
];

/** @type {Awaited<ReturnType<typeof startFlow>>} */
let gateway;
beforeAll(async () => {
  gateway = await startFlow(FLOW);
});
afterAll(() => gateway?.stop());

/** @param {string[]} args @param {string} [input] */
function shadow(args, input = '') {
  const all = [COMMAND, 'shadow', ...args, '--home', gateway.home];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8', input });
  return { status, stdout, stderr };
}

test('sets, reads, lists and deletes shadows, and keeps all digits', () => {
  expect(shadow(['list'])).toEqual({ status: 0, stdout: 'There are no shadows.\n', stderr: '' });
  const set = shadow(['set', 'pump-7', '{"rate":5,"big":9007199254740993}']);
  expect(set).toMatchObject({ status: 0, stderr: '' });
  expect(set.stdout).toMatch(/^pump-7: version 1, 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\n$/);
  const read = shadow(['get', 'pump-7', '--json']);
  expect(read.stdout).toMatch(/^\{"desired":\{"rate":5,"big":9007199254740993\},"delta":.*"version":1,/);
  expect(shadow(['set', 'pump-7', '-', '--if-version', '1'], '{"rate":null}').stdout).toMatch(/version 2/);
  expect(shadow(['get', 'pump-7']).stdout.split('\n').slice(1)).toEqual([
    'desired  {"big":9007199254740993}',
    'delta    {"big":9007199254740993}',
    ''
  ]);
  expect(shadow(['set', 'pump-8', '{"n":1}', '--if-version', '0']).status).toBe(0);
  const list = shadow(['list', '--limit', '1']).stdout.split('\n');
  expect(list[0]).toMatch(/^device +version +changed +state$/);
  expect(list[1]).toMatch(/^pump-7 +2 +20\S+ \S+ +differs$/);
  expect(list[3]).toBe("2 shadows in all; more: --after 'pump-7'");
  expect(JSON.parse(shadow(['list', '--after', 'pump-7', '--json']).stdout)).toMatchObject({
    total: 2,
    shadows: [{ device: 'pump-8', version: 1, state: 'differs' }],
    next: null
  });
  expect(shadow(['delete', 'pump-8']).stdout).toMatch(/^deleted pump-8: version 1, /);
  expect(JSON.parse(shadow(['list', '--json']).stdout)).toMatchObject({ total: 1 });
});

test.each([
  [['get', 'pump-0'], 3, 'The gateway answers: No shadow exists for pump-0.'],
  [['delete', 'pump-0'], 3, 'No shadow exists for pump-0.'],
  [['get', 'x'], 3, 'No shadow node is responsible for this device.'],
  [
    ['set', 'pump-1', '{"n":1}', '--if-version', '4'],
    3,
    'Version conflict: the shadow has version 0, not 4.'
  ],
  [['set', 'pump-1', `{"n":"${'x'.repeat(300)}"}`], 3, '256 is the limit of the node.'],
  [['set', 'pump-1', '{'], 2, 'What is desired cannot be read. The document is not JSON.'],
  [['set', 'pump-1', '5'], 2, 'What is desired must be a JSON object'],
  [['list', '--engine', 'none'], 3, 'There is no such engine with a shadow node, or it does not run.']
])('ends with a sentence and a code of its own: %j', (args, code, sentence) => {
  const { status, stdout, stderr } = shadow(args);
  expect({ status, stdout }).toEqual({ status: code, stdout: '' });
  expect(stderr).toContain(sentence);
});

test('says so if no gateway runs', () => {
  const all = [COMMAND, 'shadow', 'list', '--home', path.join(gateway.home, 'none')];
  const { status, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(/^No gateway uses /) });
});
