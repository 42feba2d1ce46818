'use strict';
// The plan for records that would end in a node that cannot take them.

const { compile } = require('../../../nodes/lib/engine/plan-compiler');

const KINDS = ['source', 'ingest', 'priority', 'filter', 'batch', 'uplink', 'tap', 'split'];
const inert = { shown: 'wrong setting', sentence: 'The rule is wrong. Correct it.' };

/**
 * Compiles a drawing: { id: [kind of a member, or type of another node, ...targets] }; a type that begins with ! is
 * inert. Settings: by id.
 */
function compiled(drawing, fastPath = 'auto', settings = {}) {
  const nodes = new Map();
  const members = [];
  for (const [id, [what, ...targets]] of Object.entries(drawing)) {
    const wires = targets.length ? [targets] : [];
    const type = what.replace('!', 'seganet-');
    nodes.set(id, { type, wires, name: `${id} node`, ...(what.startsWith('!') && { inert }) });
    if (KINDS.includes(what)) {
      const { tenant = false, ...own } = settings[id] ?? {};
      members.push({ id, stage: members.length + 1, kind: what, settings: own, wires, tenant });
    }
  }
  const { spec, routes } = compile(members, (id) => nodes.get(id), { fastPath });
  return { stageOf: (id) => spec.stages.find(({ id: stage }) => stage === routes.get(id).stage), routes };
}

const wrong = { shown: '→ bad node: wrong setting', sentence: expect.stringMatching(/"bad node".*Correct/) };

describe.each(['auto', 'off'])('with the fast path %s', (fastPath) => {
  test.each(['priority', 'filter', 'batch', 'uplink', 'kafka-uplink', 'parquet-uplink', 'ingest'])(
    'shuts the source of an inert %s node',
    (type) => {
      const { routes, stageOf } = compiled({ devices: ['source', 'bad'], bad: [`!${type}`] }, fastPath);
      expect(routes.get('devices').shut).toEqual(wrong);
      expect(stageOf('devices')).toMatchObject({ next: [], messages: false });
    }
  );

  test('shuts a source without tenants that leads to tenants, and no other', () => {
    const { routes } = compiled(
      {
        open: ['source', 'rank'],
        own: ['source', 'rank'],
        flow: ['ingest', 'rank'],
        rank: ['priority', 'all'],
        all: ['split'],
        plain: ['source', 'cloud'],
        cloud: ['uplink']
      },
      fastPath,
      { own: { tenant: true } }
    );
    expect(routes.get('open').shut).toEqual({
      shown: 'no tenant rule',
      sentence: expect.stringMatching(/"Tenant from"/)
    });
    for (const id of ['own', 'flow', 'plain', 'rank']) expect(routes.get(id).shut).toBeNull();
    expect(routes.get('rank').carriage).toBe(fastPath === 'auto' ? 'native' : 'message');
  });

  test('shuts a source without tenants that leads to the tenants node of another engine', () => {
    const { routes } = compiled(
      { open: ['source', 'other'], own: ['source', 'other'], other: ['seganet-tenants'] },
      fastPath,
      { own: { tenant: true } }
    );
    expect(routes.get('open').shut).toMatchObject({ shown: 'no tenant rule' });
    expect(routes.get('own').shut).toBeNull();
  });

  test('shuts the source of an inert uplink to Kafka beside a working uplink', () => {
    const { routes } = compiled(
      { devices: ['source', 'cloud', 'bad'], cloud: ['uplink'], bad: ['!kafka-uplink'] },
      fastPath
    );
    expect(routes.get('devices').shut).toEqual(wrong);
  });

  test('shuts every node upstream of an inert one', () => {
    const { routes } = compiled(
      {
        devices: ['source', 'rank'],
        rank: ['priority', 'good', 'j'],
        j: ['junction', 'bad'],
        bad: ['!batch', 'cloud'],
        good: ['batch', 'cloud'],
        cloud: ['uplink'],
        others: ['source', 'good']
      },
      fastPath
    );
    expect(routes.get('devices').shut).toEqual(wrong);
    expect(routes.get('rank').shut).toEqual(wrong);
    expect(routes.get('devices')).toMatchObject({ next: [], jsWires: [[]] });
    for (const id of ['good', 'cloud', 'others']) expect(routes.get(id).shut).toBeNull();
  });

  test.each([
    ['wired to nothing', {}],
    ['with a deleted target alone', { devices: ['source', 'gone'] }],
    ['before a priority node that leads nowhere', { devices: ['source', 'rank'], rank: ['priority'] }],
    [
      'that leads only to an inert tap',
      { devices: ['source', 'look'], look: ['!tap', 'cloud'], cloud: ['uplink'] }
    ],
    ['that runs in a circle', { devices: ['source', 'a'], a: ['priority', 'b'], b: ['priority', 'a'] }],
    ['with a tap that leads nowhere', { devices: ['source', 'look'], look: ['tap'] }]
  ])('shuts a source %s', (_case, drawing) => {
    const { routes } = compiled({ devices: ['source'], ...drawing }, fastPath);
    expect(routes.get('devices').shut).toEqual({
      shown: expect.stringMatching(/^no route: /),
      sentence: expect.stringMatching(/nothing would take them.*Wire it/)
    });
  });

  test.each([
    ['one way that takes records is enough', { devices: ['source', 'rank', 'cloud'], rank: ['priority'] }],
    ['an inert tap shuts nothing', { devices: ['source', 'cloud', 'look'], look: ['!tap'] }],
    ['an inert stats node shuts nothing', { devices: ['source', 'cloud', 'look'], look: ['!stats'] }],
    ['a node of another package takes messages', { devices: ['source', 'code'], code: ['function'] }],
    ['a node of another engine takes messages', { devices: ['source', 'far'], far: ['seganet-batch'] }],
    ['a tap passes every record on', { devices: ['source', 'look'], look: ['tap', 'code'], code: ['debug'] }]
  ])('%s', (_case, drawing) => {
    const { routes } = compiled({ cloud: ['uplink'], ...drawing }, fastPath);
    expect(routes.get('devices').shut).toBeNull();
  });
});

test.each([{ everyN: 100 }, { perSecond: 1 }])(
  'shuts a source whose records reach only a tap: %p',
  (look) => {
    const drawing = { devices: ['source', 'look'], look: ['tap', 'code'], code: ['debug'] };
    expect(compiled(drawing, 'auto', { look }).routes.get('devices').shut).not.toBeNull();
  }
);

test('shuts only nodes that bring records in when they have no way out', () => {
  const { routes } = compiled({ rank: ['priority'], in: ['ingest'], look: ['tap'] });
  expect(routes.get('rank').shut).toBeNull();
  expect(routes.get('look').shut).toBeNull();
  expect(routes.get('in').shut).not.toBeNull();
});
