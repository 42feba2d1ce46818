'use strict';
// Nodes of older and of newer flows: an older one works as before, a newer one is refused and takes no records.

const {
  helper,
  tab,
  engine,
  node,
  load,
  unload,
  until,
  errors,
  shown,
  engines,
  calls
} = require('./support/gateway');

beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => helper.stopServer());

const NEWER = 'made by a newer version';
const source = (properties) =>
  node('in', 'mqtt-devices', { version: 2, port: '1884', ...properties }, 'pack');
const stage = (kind) => engines[0].plan.stages.find((each) => each.kind === kind);

test('runs a batch node from before adaptive batches with its limits', async () => {
  await load([
    tab,
    engine,
    source(),
    node('pack', 'batch', { maxBytes: '2048' }, 'sink'),
    node('sink', 'helper')
  ]);
  expect(stage('batch')).toMatchObject({ flush: 'limits', minDevices: 50 });
  expect(calls).toContain('listen');
  expect(errors()).toEqual([]);
});

test('runs a new batch node that leaves the choice open with adaptive batches', async () => {
  await load([tab, engine, source(), node('pack', 'batch', { version: 2 }, 'sink'), node('sink', 'helper')]);
  expect(stage('batch')).toMatchObject({ flush: 'adaptive', minDevices: 0 });
});

test('refuses a source of a newer version, which then accepts no device', async () => {
  await load([tab, engine, source({ version: 3 }), node('pack', 'helper')]);
  expect(calls).not.toContain('listen');
  expect(shown('in')).toMatchObject({ fill: 'red', text: NEWER });
  expect(errors()).toEqual([['in', expect.stringMatching(/configuration has version 3.*up to 2\. Update/)]]);
});

test('closes the sources whose records would reach a node of a newer version', async () => {
  await load([tab, engine, source(), node('pack', 'batch', { version: 3 }, 'sink'), node('sink', 'helper')]);
  await until(() => shown('in')?.text === `→ pack: ${NEWER}`, 'status');
  expect(calls).not.toContain('listen');
});

test('starts no engine of a newer version, and its nodes say why', async () => {
  await load([tab, { ...engine, version: 2 }, source(), node('pack', 'helper')]);
  expect(engines).toEqual([]);
  expect(shown('in')).toMatchObject({ fill: 'red', text: NEWER });
  expect(errors()).toEqual([[engine.id, expect.stringMatching(/newer version of SegaNet Gateway/)]]);
});

test.each([
  ['command', { version: 2 }],
  ['stats', { version: 2 }],
  ['login', { version: 2 }],
  ['unbatch', { version: 3 }],
  ['tap', { version: 2 }]
])('refuses a %s node of a newer version', async (type, properties) => {
  await load([tab, engine, node('it', type, properties, 'sink'), node('sink', 'helper')]);
  expect(shown('it')).toMatchObject({ fill: 'red', text: NEWER });
});
