'use strict';
// Nodes that cannot take records: the behavior of their sources meanwhile, and after the node is repaired.

const dns = require('node:dns');
const {
  helper,
  tab,
  engine,
  broker,
  node,
  load,
  unload,
  until,
  errors,
  warnings,
  outcomeOf,
  shown,
  engines,
  threads,
  calls
} = require('./support/gateway');

beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => helper.stopServer());

const record = { deviceId: 'd1', topic: 't', payload: 'x' };
const devices = node('devices', 'mqtt-devices', { port: '1884' }, 'rank');
const ingest = node('in', 'ingest', {}, 'rank');
const pack = node('pack', 'batch', {}, 'cloud');
const cloud = node('cloud', 'uplink', { broker: 'broker' });
const rank = (properties = {}) => node('rank', 'priority', { name: 'ranks', ...properties }, 'pack');
const good = [tab, engine, broker, devices, ingest, rank(), pack, cloud];
const bad = good.map((each) => (each.id === 'rank' ? rank({ rulesJson: '{' }) : each));

const stageOf = (id) => {
  const { host } = helper.getNode('engine');
  return engines[0].plan.stages.find((stage) => stage.id === host.stageOf(id));
};

test("does not listen when a source's records would reach a node with a wrong setting", async () => {
  await load(bad);
  expect(calls).not.toContain('listen');
  await until(() => shown('devices')?.text === '→ ranks: wrong setting', 'status');
  expect(shown('devices').fill).toBe('red');
  expect(errors()).toContainEqual([
    'devices',
    expect.stringMatching(/No records are taken, because the node "ranks" in their path cannot take them/)
  ]);
  expect((await outcomeOf('in', record)).message).toMatch(/"ranks" in their path cannot take them/);
});

test('closes before a plan with such a node, and opens when the node is repaired', async () => {
  await load(good);
  expect(calls).toContain('listen');
  calls.length = 0;
  await helper.setFlows(bad, 'nodes');
  expect(calls.filter((call) => /listen|applyPlan/.test(call))).toEqual(['unlisten', 'applyPlan']);
  expect(stageOf('devices')).toMatchObject({ next: [], messages: false });
  calls.length = 0;
  await helper.setFlows(good, 'nodes');
  expect(calls.filter((call) => /listen|applyPlan/.test(call))).toEqual(['applyPlan', 'listen']);
  expect(await outcomeOf('in', record)).toBeUndefined();
  await until(() => shown('devices')?.fill === 'green', 'status');
});

test('does not listen after a source is shut during the look-up of its host', async () => {
  let found = () => {};
  const lookup = jest
    .spyOn(dns.promises, 'lookup')
    .mockImplementation(() => new Promise((resolve) => (found = () => resolve({ address: '127.0.0.1' }))));
  const named = (/** @type {any[]} */ flow) =>
    flow.map((each) => (each.id === 'devices' ? { ...each, host: 'localhost' } : each));
  await load(named(good));
  const late = found;
  await helper.setFlows(named(bad), 'nodes');
  late();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).not.toContain('listen');
  await helper.setFlows(named(good), 'nodes');
  found();
  await until(() => calls.includes('listen'), 'listen');
  lookup.mockRestore();
});

test('keeps other sources of the engine running', async () => {
  const other = [
    node('out', 'mqtt-devices', { port: '1885' }, 'cloud'),
    node('direct', 'ingest', {}, 'cloud')
  ];
  await load([...bad, ...other]);
  expect([...engines[0].ports.values()]).toEqual([1885]);
  expect(await outcomeOf('direct', record)).toBeUndefined();
});

test('reports a source without a target', async () => {
  await load([tab, engine, node('devices', 'mqtt-devices', { port: '1884' }), node('in', 'ingest')]);
  expect(calls).not.toContain('listen');
  await until(() => shown('devices')?.text === 'no route: wired to nothing', 'status');
  expect((await outcomeOf('in', record)).message).toMatch(/the node is wired to nothing/);
});

test('finds a broker that is deployed after its uplink node', async () => {
  await load(good.filter(({ id }) => id !== 'broker'));
  await until(() => shown('cloud')?.text.startsWith('no broker'), 'status');
  expect(await outcomeOf('in', record)).toBeUndefined();
  const before = helper.getNode('cloud');
  await helper.setFlows(good, 'nodes');
  await until(() => shown('cloud')?.fill === 'green', 'status');
  expect(helper.getNode('cloud')).toBe(before);
  expect(threads).toHaveLength(1);
});

test.each([
  ['its topic is wrong', { topic: 'a/#' }, {}, /must not hold #/, 'wrong setting'],
  [
    'its broker has a wrong address',
    {},
    { url: 'http://x' },
    /has a wrong setting.*uplink broker must start with mqtts:/,
    'broker: wrong setting'
  ],
  ['its broker is gone', { broker: 'gone' }, {}, /No uplink broker is chosen/, 'no broker']
])('takes records to keep at an uplink node while %s', async (_why, properties, address, sentence, text) => {
  const wrong = good.map((each) => {
    if (each.id === 'cloud') return { ...each, ...properties };
    return each.id === 'broker' ? { ...each, ...address } : each;
  });
  await load(wrong);
  expect(calls).toContain('listen');
  expect(errors()).toContainEqual(['cloud', expect.stringMatching(sentence)]);
  expect(await outcomeOf('in', record)).toBeUndefined();
  expect(engines[0].held).toHaveLength(1);
  expect(stageOf('cloud')).toMatchObject({ kind: 'uplink', name: 'cloud' });
  await until(() => shown('cloud')?.text.startsWith(text), 'status');
  expect(shown('cloud').fill).toBe('red');
  const { uplink } = stageOf('cloud');
  await helper.setFlows(good, 'nodes');
  expect(stageOf('cloud').uplink).not.toBe(uplink);
  await until(() => shown('cloud')?.fill === 'green', 'status');
});

test('reports that nodes deployed before their engine do not see it, and the remedy', async () => {
  await load(good.filter(({ id }) => id !== 'engine'));
  await helper.setFlows(good, 'nodes');
  const logged = () => warnings().filter(([id]) => id === 'engine');
  await until(() => logged().length > 0, 'the warning');
  expect(logged()).toEqual([['engine', expect.stringMatching(/^5 nodes were created before.*"Full"/)]]);
  await helper.setFlows(good, 'full');
  expect(logged()).toHaveLength(1);
});
