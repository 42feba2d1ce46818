'use strict';

const {
  helper,
  junction,
  tab,
  engine,
  broker,
  node,
  load,
  unload,
  inbox,
  until,
  engines,
  calls
} = require('./support/gateway');

const { keyBytes } = require('../../nodes/lib/unbatch/record-key');

beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => helper.stopServer());

const rules = [{ topic: 'alarm', class: '1' }];
const path = [
  tab,
  engine,
  broker,
  node('in', 'ingest', {}, 'rank'),
  node('rank', 'priority', { rules }, 'batch'),
  node('batch', 'batch', {}, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' })
];
const alarm = { topic: 'alarm', deviceId: 'd1', payload: 'hot' };

/** The path with some nodes replaced and others added. */
function withNodes(...others) {
  const ids = others.map(({ id }) => id);
  return [...path.filter(({ id }) => !ids.includes(id)), ...others];
}

test('turns the wires into a native plan, and no message passes between the nodes', async () => {
  await load(path);
  const [{ plan, held, pushes }] = engines;
  expect(plan.stages.map(({ kind, next, messages }) => [kind, next.length, messages])).toEqual([
    ['ingest', 1, false],
    ['priority', 1, false],
    ['batch', 1, false],
    ['uplink', 0, false]
  ]);
  expect(helper.getNode('rank').wires).toEqual([[]]);
  helper.getNode('in').receive({ ...alarm });
  await until(() => held.length === 1);
  expect(held[0]).toMatchObject({ deviceId: 'd1', cls: 1 });
  expect(pushes).toHaveLength(1);
});

test('sends messages to a debug node beside a native wire, and none to the native neighbor', async () => {
  await load(withNodes(node('rank', 'priority', { rules }, 'batch', 'debug'), node('debug', 'helper')));
  const seen = inbox('debug');
  const batch = inbox('batch');
  helper.getNode('in').receive({ ...alarm });
  await until(() => seen.length === 1);
  expect(seen[0]).toMatchObject({ topic: 'alarm', deviceId: 'd1', priority: 1, payload: Buffer.from('hot') });
  expect(seen[0].source).toEqual({ protocol: 'ingest', nodeId: 'in' });
  expect(batch).toEqual([]);
  expect(engines[0].held).toHaveLength(1);
});

test('gives and takes messages at a node in the middle, and keeps their properties across priority', async () => {
  const middle = node('middle', 'helper', {}, 'rank');
  await load(
    withNodes(
      node('in', 'ingest', {}, 'middle'),
      middle,
      node('rank', 'priority', { rules }, 'batch', 'debug'),
      node('debug', 'helper')
    )
  );
  const seen = inbox('debug');
  const code = helper.getNode('middle');
  code.on('input', (msg) => code.send({ ...msg, extra: 7 }));
  helper.getNode('in').receive({ ...alarm });
  await until(() => engines[0].held.length === 1 && seen.length === 1);
  expect(seen[0]).toMatchObject({ extra: 7, priority: 1 });
  expect(engines[0].held[0]).toMatchObject({ deviceId: 'd1', cls: 1 });
});

test('looks through a junction', async () => {
  const flow = withNodes(node('in', 'ingest', {}, 'j'), node('j', 'junction', {}, 'rank'));
  await load(flow, {}, [junction]);
  expect(engines[0].plan.stages[0]).toMatchObject({ next: [2], messages: false });
});

test('makes a new plan after a rewire without a restart', async () => {
  await load(path);
  const before = helper.getNode('rank');
  const rewired = path.map((item) => (item.id === 'rank' ? { ...item, wires: [['debug']] } : item));
  await helper.setFlows([...rewired, node('debug', 'helper')], 'nodes');
  await until(() => calls.filter((call) => call === 'applyPlan').length === 2);
  expect(helper.getNode('rank')).toBe(before);
  expect(before.wires).toEqual([['debug']]);
  const seen = inbox('debug');
  helper.getNode('in').receive({ ...alarm });
  await until(() => seen.length === 1);
  expect(engines[0].held).toEqual([]);
});

test('sends nothing on a native wire of the running plan while it is rewired', async () => {
  await load(path);
  const rank = helper.getNode('rank');
  rank.updateWires([['batch', 'debug']]);
  expect(rank.wires).toEqual([['debug']]);
});

test('keeps the stage of a redeployed node', async () => {
  await load(path);
  const changed = path.map((item) => (item.id === 'batch' ? { ...item, maxBytes: '2048' } : item));
  await helper.setFlows(changed, 'nodes');
  await until(() => calls.filter((call) => call === 'applyPlan').length === 2);
  expect(engines).toHaveLength(1);
  expect(engines[0].plan.stages[2]).toMatchObject({ id: 3, kind: 'batch', maxBytes: 2048 - keyBytes('gw1') });
});

test('holds messages in the engine while nodes are replaced', async () => {
  await load(withNodes(node('in', 'ingest', {}, 'debug'), node('debug', 'helper')));
  const seen = inbox('debug');
  helper._events.emit('flows:stopping', {});
  helper.getNode('in').receive({ ...alarm });
  await until(() => engines[0].frames.length === 1);
  expect(seen).toEqual([]);
  helper._events.emit('flows:started', {});
  await until(() => seen.length === 1);
});

test('carries messages on every wire with the fast path off, with the same result', async () => {
  await load(withNodes({ ...engine, fastPath: 'off' }));
  expect(engines[0].plan.stages.every(({ next }) => next.length === 0)).toBe(true);
  helper.getNode('in').receive({ ...alarm });
  await until(() => engines[0].held.length === 1);
  expect(engines[0].held[0]).toMatchObject({ cls: 1, flags: 5 });
});

test('lets the plan and the counters be read', async () => {
  await load(path);
  const { body } = await helper.request().get('/seganet/engines/engine/plan').expect(200);
  expect(body.gateway).toBe('gw1');
  expect(body.stages[1]).toEqual({
    node: 'rank',
    stage: 2,
    kind: 'priority',
    carriage: 'native',
    wires: [{ to: 'batch', carriage: 'native', reason: '', recordsPerS: 0 }]
  });
  const stats = await helper.request().get('/seganet/engines/engine/stats').expect(200);
  expect(stats.body).toMatchObject({
    workers: [{ cpu: 1 }],
    uplinks: [{ state: 'connected', name: '127.0.0.1:1' }],
    unsavedRecords: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    storedRecords: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    backlogRecords: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    log: { state: 'ready', chunks: 0, directory: expect.stringMatching(/seganet-log.engine$/) }
  });
  await helper.request().get('/seganet/engines/rank/plan').expect(404);
});
