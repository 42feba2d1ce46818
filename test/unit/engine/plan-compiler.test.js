'use strict';

const { compile, logName } = require('../../../nodes/lib/engine/plan-compiler');

/**
 * Builds members and live nodes from a drawing: { id: [kind or type, ...targets] }. Kinds that no engine has are
 * ordinary nodes.
 */
function draw(drawing) {
  const kinds = ['source', 'ingest', 'priority', 'batch', 'uplink', 'tap'];
  const nodes = new Map();
  const members = [];
  for (const [id, [kind, ...targets]] of Object.entries(drawing)) {
    const wires = targets.length ? [targets] : [];
    nodes.set(id, { type: kind, wires });
    if (kinds.includes(kind)) members.push({ id, stage: members.length + 1, kind, settings: {}, wires });
  }
  return { members, getNode: (id) => nodes.get(id) };
}

function compiled(drawing, fastPath = 'auto') {
  const { members, getNode } = draw(drawing);
  return compile(members, getNode, { fastPath });
}

const chain = {
  devices: ['source', 'rank'],
  rank: ['priority', 'batch'],
  batch: ['batch', 'cloud'],
  cloud: ['uplink']
};

test('makes a straight chain native from end to end', () => {
  const { spec, routes } = compiled(chain);
  expect(spec.stages).toEqual([
    { id: 1, kind: 'source', name: 'devices', next: [2], messages: false },
    { id: 2, kind: 'priority', next: [3], messages: false },
    { id: 3, kind: 'batch', next: [4], messages: false },
    { id: 4, kind: 'uplink', next: [], messages: false, name: 'cloud' }
  ]);
  expect([...routes.values()].map(({ carriage }) => carriage)).toEqual([
    'native',
    'native',
    'native',
    'none'
  ]);
  expect(routes.get('rank').jsWires).toEqual([[]]);
  expect(routes.get('rank').nativeWires).toEqual(['batch']);
});

test('puts the settings of a node into its stage', () => {
  const { members, getNode } = draw({ rank: ['priority'] });
  members[0].settings = { rules: [{ topic: 'a', class: 1 }], defaultClass: 0 };
  const { spec } = compile(members, getNode, { fastPath: 'auto' });
  expect(spec.stages).toEqual([
    { id: 1, kind: 'priority', next: [], messages: false, rules: [{ topic: 'a', class: 1 }], defaultClass: 0 }
  ]);
});

test('makes both ways for a wire to a debug node beside a native one', () => {
  const { spec, routes } = compiled({ ...chain, rank: ['priority', 'batch', 'debug'], debug: ['debug'] });
  expect(spec.stages[1]).toMatchObject({ next: [3], messages: true });
  expect(routes.get('rank')).toMatchObject({ carriage: 'both', jsWires: [['debug']] });
});

test('gives and takes messages at a function node in the middle', () => {
  const { spec, routes } = compiled({ ...chain, rank: ['priority', 'code'], code: ['function', 'batch'] });
  expect(spec.stages[1]).toMatchObject({ next: [], messages: true });
  expect(routes.get('rank').carriage).toBe('message');
  expect(routes.get('rank').wires).toEqual([
    { to: 'code', carriage: 'message', reason: 'not a node of this engine' }
  ]);
  expect(routes.get('batch').carriage).toBe('native');
});

test('looks through a junction', () => {
  const { spec, routes } = compiled({
    ...chain,
    devices: ['source', 'j1'],
    j1: ['junction', 'j2'],
    j2: ['junction', 'rank']
  });
  expect(spec.stages[0]).toMatchObject({ next: [2], messages: false });
  expect(routes.get('devices').nativeWires).toEqual(['j1']);
});

test('replaces a junction to both kinds by its message targets', () => {
  const { routes } = compiled({
    ...chain,
    devices: ['source', 'j'],
    j: ['junction', 'rank', 'debug'],
    debug: ['debug']
  });
  expect(routes.get('devices')).toMatchObject({ carriage: 'both', jsWires: [['debug']], nativeWires: ['j'] });
});

test('keeps a junction to message targets alone, for the debugger', () => {
  const { routes } = compiled({ devices: ['source', 'j'], j: ['junction', 'debug'], debug: ['debug'] });
  expect(routes.get('devices').jsWires).toEqual([['j']]);
});

test('ends junctions in a circle', () => {
  const { routes } = compiled({ devices: ['source', 'j1'], j1: ['junction', 'j2'], j2: ['junction', 'j1'] });
  expect(routes.get('devices').carriage).toBe('none');
});

test('ignores a disabled or missing target, without messages', () => {
  const { spec, routes } = compiled({ ...chain, rank: ['priority', 'gone', 'batch'] });
  expect(spec.stages[1]).toMatchObject({ next: [3], messages: false });
  expect(routes.get('rank').carriage).toBe('native');
});

test('carries messages on a wire to a node of another engine', () => {
  const { members, getNode } = draw(chain);
  const first = members.filter(({ id }) => id !== 'batch' && id !== 'cloud');
  const second = members.filter(({ id }) => id === 'batch' || id === 'cloud');
  const { routes } = compile(first, getNode, { fastPath: 'auto' });
  expect(routes.get('rank')).toMatchObject({ carriage: 'message', next: [] });
  expect(compile(second, getNode, { fastPath: 'auto' }).routes.get('batch').carriage).toBe('native');
});

test('carries messages on a wire that closes a loop', () => {
  const { routes } = compiled({
    devices: ['source', 'tap'],
    tap: ['tap', 'rank'],
    rank: ['priority', 'tap', 'cloud'],
    cloud: ['uplink']
  });
  expect(routes.get('tap').carriage).toBe('native');
  expect(routes.get('rank')).toMatchObject({ carriage: 'both', jsWires: [['tap']], next: [4] });
  expect(routes.get('rank').wires[0]).toEqual({ to: 'tap', carriage: 'message', reason: 'closes a loop' });
});

test('carries messages on a wire from a node to itself', () => {
  const { routes } = compiled({ rank: ['priority', 'rank'] });
  expect(routes.get('rank')).toMatchObject({ carriage: 'message', next: [] });
});

test('hands a record over once although two ways lead to the same node', () => {
  const { spec } = compiled({ ...chain, devices: ['source', 'rank', 'j'], j: ['junction', 'rank'] });
  expect(spec.stages[0].next).toEqual([2]);
});

test('reads messages at ingest always, and makes a batch native to uplinks only', () => {
  const { routes } = compiled({
    devices: ['source', 'in'],
    in: ['ingest', 'batch'],
    batch: ['batch', 'tap', 'cloud'],
    tap: ['tap'],
    cloud: ['uplink']
  });
  expect(routes.get('devices').wires).toEqual([
    { to: 'in', carriage: 'message', reason: 'ingest reads messages' }
  ]);
  expect(routes.get('batch')).toMatchObject({ carriage: 'both', jsWires: [['tap']], next: [5] });
});

test('carries messages on every wire with the fast path off', () => {
  const { spec, routes } = compiled(chain, 'off');
  expect(spec.stages.map(({ next, messages }) => [next.length, messages])).toEqual([
    [0, true],
    [0, true],
    [0, true],
    [0, false]
  ]);
  expect(routes.get('devices').jsWires).toEqual([['rank']]);
});

test('starts from the drawn wires when it compiles again after a rewire', () => {
  const { members, getNode } = draw({ ...chain, debug: ['debug'] });
  compile(members, getNode, { fastPath: 'auto' });
  members[1].wires = [['cloud', 'debug']];
  const { routes } = compile(members, getNode, { fastPath: 'auto' });
  expect(routes.get('rank')).toMatchObject({ next: [4], jsWires: [['debug']] });
});

test("records where a node's records came in", () => {
  const { routes } = compiled({ ...chain, in: ['ingest', 'batch'] });
  expect(routes.get('devices').origins).toEqual(['devices']);
  expect(routes.get('rank').origins).toEqual(['devices']);
  expect(routes.get('batch').origins).toEqual(['devices', 'in']);
});

test('keeps records in the log under the id of the uplink node, also a long one', () => {
  expect(logName('9f3c.1')).toBe('9f3c.1');
  expect(logName('é'.repeat(32))).toBe('é'.repeat(32));
  const long = Array.from({ length: 4 }, (_, i) => `f00dfeed0000000${i}`).join('-');
  expect(logName(long)).toMatch(/^[0-9a-f]{64}$/);
  expect(logName(long)).toBe(logName(long));
  expect(logName(`${long}1`)).not.toBe(logName(long));
});
