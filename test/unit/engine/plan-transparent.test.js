'use strict';
// Wires through nodes that only pass messages on, and wires where something waits for messages.

const { compile } = require('../../../nodes/lib/engine/plan-compiler');
const { MOST_WAYS } = require('../../../nodes/lib/engine/wire-targets');

const KINDS = ['source', 'ingest', 'priority', 'batch', 'uplink', 'tap'];

/** Compiles a drawing: { id: [kind or type, ...targets] }. A target of several outputs is an array of them. */
function compiled(drawing, options = {}, asMessages = []) {
  const nodes = new Map();
  const members = [];
  for (const [id, [kind, ...targets]] of Object.entries(drawing)) {
    const wires = targets.length === 0 ? [] : Array.isArray(targets[0]) ? targets : [targets];
    nodes.set(id, { type: kind, wires });
    const stage = members.length + 1;
    if (KINDS.includes(kind))
      members.push({ id, stage, kind, settings: {}, wires, asMessages: asMessages.includes(id) });
  }
  return compile(members, (id) => nodes.get(id), { fastPath: 'auto', ...options });
}

const end = { rank: ['priority', 'cloud'], cloud: ['uplink'] };
const wire = (to, reason = '') => ({ to, carriage: reason ? 'message' : 'native', reason });

test.each([
  ['a link out and a link in node', { out: ['link out', 'in'], in: ['link in', 'rank'] }],
  ['a subflow instance with the node inside', { out: ['subflow:s', 'rank'] }],
  ['a subflow in a subflow', { out: ['subflow:s', 'out-a'], 'out-a': ['subflow:t', 'rank'] }],
  [
    'a subflow whose input is its output, and link nodes',
    { out: ['subflow:s', 'far'], far: ['link out', 'in'], in: ['link in', 'rank'] }
  ],
  ['one of several link in nodes', { out: ['link out', 'gone', 'in'], in: ['link in', 'rank'] }]
])('is native through %s', (_case, drawing) => {
  const { routes, spec } = compiled({ devices: ['source', 'out'], ...end, ...drawing });
  expect(routes.get('devices')).toMatchObject({
    carriage: 'native',
    wires: [wire('rank')],
    nativeWires: ['out'],
    jsWires: [[]]
  });
  expect(spec.stages[0]).toMatchObject({ next: [2], messages: false });
});

test('reaches several targets behind one link out node, and keeps messages for those of other packages', () => {
  const { routes } = compiled({
    devices: ['source', 'out'],
    out: ['link out', 'in', 'in2'],
    in: ['link in', 'rank', 'debug'],
    in2: ['link in', 'cloud'],
    debug: ['debug'],
    ...end
  });
  expect(routes.get('devices')).toMatchObject({ carriage: 'both', next: [2, 3], jsWires: [['debug']] });
});

test('uses only the output to which a transparent node sends', () => {
  const { routes } = compiled({
    devices: ['source', 'sub'],
    sub: ['subflow:s', ['rank'], ['cloud']],
    ...end
  });
  expect(routes.get('devices').wires).toEqual([wire('rank')]);
});

test.each([
  ['a link call node', { call: ['link call', 'rank'] }, {}],
  ['a link out node that returns', { call: ['link out', 'rank'] }, { isReturn: (id) => id === 'call' }],
  ['a subflow of another module', { call: ['their-subflow', 'rank'] }, {}]
])('carries messages to %s', (_case, drawing, options) => {
  const { routes } = compiled({ devices: ['source', 'call'], ...end, ...drawing }, options);
  expect(routes.get('devices').wires).toEqual([wire('call', 'not a node of this engine')]);
});

test('ends at links in a circle and at wires without a node', () => {
  const circle = { a: ['link out', 'b'], b: ['link in', 'a', 'rank'] };
  const { routes } = compiled({ devices: ['source', 'a'], ...circle, ...end });
  expect(routes.get('devices').wires).toEqual([wire('rank')]);
  const unmapped = compiled({ devices: ['source', null, 'rank'], ...end });
  expect(unmapped.routes.get('devices').carriage).toBe('native');
});

test('carries a record once for each way to the same node, the first one natively', () => {
  const two = { devices: ['source', 'rank', 'j'], j: ['junction', 'rank'], ...end };
  const { routes, spec } = compiled(two);
  expect(routes.get('devices').wires).toEqual([wire('rank'), wire('rank', 'a second way to the same node')]);
  expect(routes.get('devices')).toMatchObject({ carriage: 'both', next: [2], jsWires: [['j']] });
  expect(spec.stages[0]).toMatchObject({ next: [2], messages: true });
  const inside = { devices: ['source', 'j'], j: ['junction', 'rank', 'k'], k: ['junction', 'rank'], ...end };
  expect(compiled(inside).routes.get('devices')).toMatchObject({ next: [2], jsWires: [['rank']] });
});

test('carries messages on a wire with more ways than it follows', () => {
  const wide = { devices: ['source', 'j0'], ...end };
  const layers = Math.log2(MOST_WAYS) + 1;
  for (let i = 0; i < layers; i++) {
    wide[`j${i}`] = ['junction', `a${i}`, `b${i}`];
    const next = i === layers - 1 ? 'rank' : `j${i + 1}`;
    wide[`a${i}`] = ['junction', next];
    wide[`b${i}`] = ['junction', next];
  }
  const route = compiled(wide).routes.get('devices');
  expect(route).toMatchObject({ carriage: 'message', jsWires: [['j0']], shut: null });
  expect(route.wires).toEqual([wire('j0', 'too many ways lead from it')]);
});

describe('carries messages where something waits for them', () => {
  const drawing = { devices: ['source', 'out'], out: ['link out', 'in'], in: ['link in', 'rank'], ...end };
  const waits = 'the Complete node "done" waits for messages';

  test('a Complete node of the node at the end', () => {
    const { routes } = compiled(drawing, { waiterOf: (id) => (id === 'cloud' ? 'done' : '') });
    expect(routes.get('devices').carriage).toBe('native');
    expect(routes.get('rank')).toMatchObject({ wires: [wire('cloud', waits)], veto: 'complete' });
  });

  test('a Complete node of a link node on the way, for every way behind that wire', () => {
    const both = { ...drawing, out: ['link out', 'in', 'in2'], in2: ['link in', 'cloud'] };
    const { routes } = compiled(both, { waiterOf: (id) => (id === 'in' ? 'done' : '') });
    expect(routes.get('devices').wires).toEqual([wire('rank', waits), wire('cloud', waits)]);
    expect(routes.get('devices').jsWires).toEqual([['out']]);
    expect(routes.get('rank').carriage).toBe('native');
  });

  test('no Complete node of a subflow instance, which completes nothing', () => {
    const sub = { devices: ['source', 'sub'], sub: ['subflow:s', 'rank'], ...end };
    const { routes } = compiled(sub, { waiterOf: (id) => (id === 'sub' ? 'done' : '') });
    expect(routes.get('devices').carriage).toBe('native');
  });

  test('a veto of the whole engine', () => {
    const veto = { shown: 'hooks', reason: 'another package watches messages' };
    const { routes, spec } = compiled(
      { ...drawing, rank: ['priority', 'cloud', 'debug'], debug: ['debug'] },
      { veto }
    );
    expect(routes.get('devices')).toMatchObject({ wires: [wire('rank', veto.reason)], veto: 'hooks' });
    expect(routes.get('rank').wires).toEqual([
      wire('cloud', veto.reason),
      wire('debug', 'not a node of this engine')
    ]);
    expect(spec.stages.every(({ next }) => next.length === 0)).toBe(true);
  });

  test('the user, for the wires from one node', () => {
    const { routes } = compiled(drawing, {}, ['devices']);
    expect(routes.get('devices')).toMatchObject({
      wires: [wire('rank', 'the node is set to carry messages')],
      veto: 'chosen'
    });
    expect(routes.get('rank').carriage).toBe('native');
  });
});
