'use strict';
// What makes wires carry messages, as the live flows of Node-RED show it, and how a plan changes while records flow.

const { FlowRuntime, hooks } = require('../fixtures/plan/flow-runtime');
const { log } = require('@node-red/util');
const mqtt = require('mqtt');
const { freePort } = require('../../bench/harness/broker');
const { PATIENCE } = require('../../bench/harness/patience');

const runtime = new FlowRuntime();
beforeAll(() => runtime.start());
afterAll(() => runtime.end());

const at = { x: 1, y: 1 };
const engine = {
  id: 'engine',
  type: 'seganet-engine',
  gatewayId: 'gw',
  acknowledge: 'received',
  workers: '1'
};
const base = [
  { id: 'tab', type: 'tab', label: 'one' },
  { id: 'tab2', type: 'tab', label: 'two' },
  engine,
  { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' }
];

/** @param {string} id @param {string} type @param {string[]} to @param {object} [properties] */
const node = (id, type, to, properties = {}) => ({
  id,
  type,
  z: 'tab',
  ...at,
  engine: 'engine',
  wires: [to],
  ...properties
});
const uplink = node('cloud', 'seganet-uplink', [], { broker: 'broker' });
const path = [node('in', 'seganet-ingest', ['rank']), node('rank', 'seganet-priority', ['cloud']), uplink];

const wiresOf = (/** @type {string} */ id) => runtime.host.plan?.routes.get(id)?.wires;
const native = (/** @type {string} */ to) => [{ to, carriage: 'native', reason: '' }];
const message = (/** @type {string} */ to, /** @type {string} */ reason) => [
  { to, carriage: 'message', reason }
];

/** Sends records 0 to count - 1, and calls `between` after each. */
async function send(count, between = async (/** @type {number} */ _number) => {}) {
  for (let number = 0; number < count; number++) {
    const msg = { deviceId: 'd', topic: 't', payload: String(number), ts: 1 };
    /** @type {any} */ (runtime.node('in')).receive(msg);
    await between(number);
  }
}

const numbers = () =>
  runtime.take().map(({ record }) => Number(Buffer.from(record.payload, 'base64').toString()));
const inOrder = (/** @type {number} */ count) => Array.from({ length: count }, (_, number) => number);

describe('is native', () => {
  test('through link nodes on another tab, and ends at a disabled link in node or tab', async () => {
    const far = [
      node('out', 'link out', [], { mode: 'link', links: ['far', 'off', 'gone'] }),
      node('far', 'link in', ['rank'], { z: 'tab2', links: ['out'] }),
      node('off', 'link in', ['rank'], { d: true, links: ['out'] }),
      { id: 'tab3', type: 'tab', label: 'off', disabled: true },
      node('gone', 'link in', ['rank'], { z: 'tab3', links: ['out'] })
    ];
    await runtime.deploy([...base, ...path.slice(1), node('in', 'seganet-ingest', ['out']), ...far]);
    expect(wiresOf('in')).toEqual(native('rank'));
    await send(3);
    await runtime.settle();
    expect(numbers()).toEqual([0, 1, 2]);
  });

  test('through a subflow in a subflow, in a group, with nodes of the engine inside', async () => {
    const subflows = [
      {
        id: 's',
        type: 'subflow',
        name: 's',
        in: [{ ...at, wires: [{ id: 'si' }] }],
        out: [{ ...at, wires: [{ id: 'sp', port: 0 }] }]
      },
      { ...node('si', 'subflow:t', ['sp']), z: 's' },
      { ...node('sp', 'seganet-priority', []), z: 's' },
      {
        id: 't',
        type: 'subflow',
        name: 't',
        in: [{ ...at, wires: [{ id: 'tj' }] }],
        out: [{ ...at, wires: [{ id: 'tj', port: 0 }] }]
      },
      { ...node('tj', 'junction', []), z: 't' },
      { id: 'g', type: 'group', z: 'tab', nodes: ['inst'], name: 'g' }
    ];
    const inst = node('inst', 'subflow:s', ['cloud'], { g: 'g' });
    await runtime.deploy([...base, ...subflows, inst, node('in', 'seganet-ingest', ['inst']), uplink]);
    expect(wiresOf('in')).toEqual(native('inst-sp'));
    expect(wiresOf('inst-sp')).toEqual(native('cloud'));
    await send(3);
    await runtime.settle();
    expect(numbers()).toEqual([0, 1, 2]);
    // The wire behind the instance changes the wires of the node inside.
    const debug = node('debug', 'pass', []);
    const rewired = [
      ...base,
      ...subflows,
      { ...inst, wires: [['cloud', 'debug']] },
      node('in', 'seganet-ingest', ['inst']),
      uplink,
      debug
    ];
    await runtime.deploy(rewired, 'nodes');
    await runtime.settle();
    expect(runtime.host.plan?.routes.get('inst-sp')).toMatchObject({
      carriage: 'both',
      jsWires: [['debug']]
    });
  });
});

describe('carries messages', () => {
  test('to the status output of a subflow', async () => {
    const subflow = [
      {
        id: 's',
        type: 'subflow',
        name: 's',
        in: [{ ...at, wires: [{ id: 'sp' }] }],
        out: [{ ...at, wires: [{ id: 'sp', port: 0 }] }],
        status: { ...at, wires: [{ id: 'sp', port: 0 }] }
      },
      { ...node('sp', 'seganet-tap', [], { everyN: '1', perSecond: '0' }), z: 's' }
    ];
    await runtime.deploy([
      ...base,
      ...subflow,
      node('inst', 'subflow:s', ['cloud']),
      node('in', 'seganet-ingest', ['inst']),
      uplink
    ]);
    expect(runtime.host.plan?.routes.get('inst-sp')).toMatchObject({
      wires: expect.arrayContaining([
        ...native('cloud'),
        ...message('inst:status', 'not a node of this engine')
      ]),
      jsWires: [['inst:status']]
    });
  });

  test('to a link out node in mode "return", also in a subflow', async () => {
    const returns = (/** @type {string} */ z) => ({
      ...node(`${z}r`, 'link out', [], { mode: 'return', links: [] }),
      z
    });
    const subflow = [
      { id: 's', type: 'subflow', name: 's', in: [{ ...at, wires: [{ id: 'sr' }] }], out: [] },
      returns('s')
    ];
    await runtime.deploy([
      ...base,
      ...subflow,
      node('inst', 'subflow:s', []),
      returns('tab'),
      node('in', 'seganet-ingest', ['inst', 'tabr', 'cloud']),
      uplink
    ]);
    expect(wiresOf('in')).toEqual([
      ...message('inst-sr', 'not a node of this engine'),
      ...message('tabr', 'not a node of this engine'),
      ...native('cloud')
    ]);
  });

  test('into a node for which a Complete node waits, which then gets a message for each record', async () => {
    const complete = { ...node('done', 'complete', ['seen'], { scope: ['cloud'], name: 'delivered' }) };
    const seen = node('seen', 'pass', []);
    await runtime.deploy([...base, ...path, complete, seen]);
    expect(wiresOf('rank')).toEqual(message('cloud', 'the Complete node "delivered" waits for messages'));
    expect(wiresOf('in')).toEqual(native('rank'));
    let completed = 0;
    /** @type {any} */ (runtime.node('seen')).on('input', () => completed++);
    await send(5);
    await runtime.settle();
    expect([completed, numbers()]).toEqual([5, inOrder(5)]);
    await runtime.deploy([...base, ...path, { ...complete, d: true }, seen], 'nodes');
    await runtime.settle();
    expect(wiresOf('rank')).toEqual(native('cloud'));
  });

  test('from a node whose user wants messages', async () => {
    const chosen = path.map((item) => (item.id === 'rank' ? { ...item, carryAsMessages: true } : item));
    await runtime.deploy([...base, ...chosen]);
    expect(wiresOf('rank')).toEqual(message('cloud', 'the node is set to carry messages'));
    expect(wiresOf('in')).toEqual(native('rank'));
  });

  test('while Node-RED logs metrics', async () => {
    await runtime.deploy([...base, ...path]);
    const metric = jest.spyOn(log, 'metric').mockReturnValue(true);
    runtime.host.upkeep.tick();
    expect(wiresOf('in')).toEqual(message('rank', 'Node-RED logs metrics of messages'));
    metric.mockRestore();
    runtime.host.upkeep.tick();
    await runtime.settle();
    expect(wiresOf('in')).toEqual(native('rank'));
  });
});

describe('a messaging hook of another package', () => {
  const reason = (/** @type {string} */ name) => `another package watches messages (messaging hook ${name})`;
  afterEach(() => hooks.remove('*.other'));

  test.each(['onSend', 'preRoute', 'preDeliver', 'postDeliver', 'onReceive', 'postReceive', 'onComplete'])(
    '%s is noticed when it comes and when it goes, beside our own hooks too',
    async (name) => {
      const port = { port: '0', version: 2, acknowledgeMessages: 'delivered' };
      for (const devices of [[], [node('dev', 'seganet-mqtt-devices', ['cloud'], port)]]) {
        await runtime.deploy([...base, ...path, ...devices]);
        expect(hooks.has('preRoute')).toBe(devices.length > 0);
        expect(wiresOf('in')).toEqual(native('rank'));
        hooks.add(`${name}.other`, (/** @type {any} */ _event) => {});
        runtime.host.upkeep.tick();
        await runtime.settle();
        expect(wiresOf('in')).toEqual(message('rank', reason(name)));
        hooks.remove(`${name}.other`);
        runtime.host.upkeep.tick();
        await runtime.settle();
        expect(wiresOf('in')).toEqual(native('rank'));
        expect(hooks.has('preRoute')).toBe(devices.length > 0);
      }
    }
  );

  test('comes and goes while records flow: none is lost, doubled or late', async () => {
    const debug = node('debug', 'pass', []);
    const beside = path.map((item) => (item.id === 'rank' ? { ...item, wires: [['cloud', 'debug']] } : item));
    await runtime.deploy([...base, ...beside, debug]);
    let isOn = false;
    await send(3000, async (number) => {
      if (number % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
      if (number % 170 !== 0) return;
      if (isOn) hooks.remove('*.other');
      else hooks.add('onSend.other', (/** @type {any} */ _events) => {});
      isOn = !isOn;
      runtime.host.upkeep.tick();
    });
    await runtime.settle();
    expect(numbers()).toEqual(inOrder(3000));
  });
});

const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} first @param {number} count @returns {Buffer} PUBLISH packets of QoS 0 whose payloads are numbers */
function publishes(first, count) {
  const packets = inOrder(count).map((number) => {
    const text = String(first + number);
    return Buffer.concat([Buffer.from([0x30, 3 + text.length, 0, 1]), Buffer.from(`t${text}`)]);
  });
  return Buffer.concat(packets);
}

test('plans that change while MQTT devices publish keep each record, in order', async () => {
  const port = await freePort();
  const devices = node('dev', 'seganet-mqtt-devices', ['rank'], { port: String(port), version: 2 });
  const settings = { minDevices: '0', maxBytes: '500', maxDelayMs: '20', flush: 'limits' };
  const batch = node('batch', 'seganet-batch', ['cloud'], settings);
  await runtime.deploy([...base, devices, node('rank', 'seganet-priority', ['batch']), batch, uplink]);
  const ids = ['d1', 'd2', 'd3'];
  const url = `mqtt://127.0.0.1:${port}`;
  const clients = await Promise.all(
    ids.map((clientId) => mqtt.connectAsync(url, { clientId, reconnectPeriod: 0 }))
  );
  const { host } = runtime;
  const received = () => host.engine.stats().counters.recordsReceived ?? 0;
  let count = 0;
  for (let changes = 0; changes < 20;) {
    if (ids.length * count - received() < 5000) {
      const chunk = publishes(count, 1000);
      for (const client of clients) client.stream.write(chunk);
      count += 1000;
    }
    await wait(1);
    if (host.isSwapping) continue;
    if (changes++ % 2) hooks.remove('*.other');
    else hooks.add('onSend.other', (/** @type {any} */ _events) => {});
    host.upkeep.tick();
  }
  hooks.remove('*.other');
  /** @type {string[]} */
  const found = [];
  const until = performance.now() + 20000 * PATIENCE;
  while (found.length < ids.length * count && performance.now() < until) {
    await runtime.settle();
    found.push(...runtime.take().map(({ record }) => `${record.device} ${JSON.parse(record.payload).p}`));
  }
  await Promise.all(clients.map((client) => client.endAsync()));
  for (const id of ids) {
    const own = found.filter((text) => text.startsWith(`${id} `));
    const wrong = own.findIndex((text, number) => text !== `${id} ${number}`);
    expect([own.length, wrong]).toEqual([count, -1]);
  }
}, 60000);

describe.each(/** @type {const} */ (['nodes', 'flows']))('a deploy of modified %s', (type) => {
  test('that removes a node between two nodes loses, doubles and delays nothing that is in the engine', async () => {
    const between = (/** @type {boolean} */ is) => [
      ...base,
      node('in', 'seganet-ingest', [is ? 'code' : 'rank']),
      node('code', 'pass', ['rank']),
      ...path.slice(1)
    ];
    await runtime.deploy(between(true));
    const { host } = runtime;
    for (let round = 0, first = 0; round < 6; round++, first += 200) {
      await runtime.settle();
      // In the engine's rings, as messages, when the deploy begins.
      await send(200);
      await runtime.deploy(between(round % 2 === 1), type);
      await runtime.settle();
      expect(runtime.host).toBe(host);
      const found = numbers();
      expect(found.filter((number, index) => found.indexOf(number) === index)).toEqual(inOrder(200));
      expect(found).toHaveLength(200);
    }
  });

  test('whose plan the engine refuses keeps the old plan with a message, and a valid one replaces it', async () => {
    const errors = jest.spyOn(log, 'log');
    await runtime.deploy([...base, ...path]);
    // Each layer doubles the ways of a record.
    const layers = Array.from({ length: 24 }, (_, layer) =>
      ['a', 'b'].map((side) =>
        node(
          `${side}${layer}`,
          'seganet-priority',
          layer === 23 ? ['cloud'] : [`a${layer + 1}`, `b${layer + 1}`]
        )
      )
    ).flat();
    const wide = [
      ...base,
      node('in', 'seganet-ingest', ['rank']),
      node('rank', 'seganet-priority', ['cloud', 'a0']),
      uplink,
      ...layers
    ];
    const before = runtime.host.plan;
    await runtime.deploy(wide, type);
    await runtime.settle();
    expect(runtime.host.plan).toBe(before);
    expect(runtime.host.refused).toMatch(/a record would run through more than/);
    const said = errors.mock.calls.map(([{ msg }]) => String(msg));
    expect(
      said.filter((text) => /could not be turned into a plan .* previous plan stays in use/.test(text))
    ).toHaveLength(1);
    expect(runtime.node('in').wires).toEqual([[]]);
    await send(20);
    await runtime.settle();
    expect(numbers()).toEqual(inOrder(20));
    await runtime.deploy([...base, ...path], type);
    await runtime.settle();
    expect([runtime.host.refused, runtime.host.plan === before]).toEqual(['', false]);
    await send(20);
    await runtime.settle();
    expect(numbers()).toEqual(inOrder(20));
    errors.mockRestore();
  });
});
