'use strict';
// The priority settings, from the node to their effect.

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
  shown,
  engines,
  threads
} = require('./support/gateway');
const { parts } = require('./support/fake-parts');
const { replaceModules } = require('../../nodes/lib/engine/modules');

beforeAll(() => helper.startServer());
afterEach(() => unload());
afterAll(() => helper.stopServer());

const cloud = node('cloud', 'uplink', { broker: 'broker' });
const flowWith = ({ onEngine = {}, onBroker = {}, onDevices = {} }) => [
  tab,
  { ...engine, ...onEngine },
  { ...broker, ...onBroker },
  node('devices', 'mqtt-devices', { port: '1884', ...onDevices }, 'cloud'),
  cloud
];
const stageOf = (kind) => engines[0].plan.stages.find((stage) => stage.kind === kind);
const session = (group, classes, more = {}) => ({ group, classes, state: 'connected', code: '', ...more });

describe('the engine', () => {
  test('gets the settings by class', async () => {
    const onEngine = {
      weights: '0,9,3',
      agingMs: '0',
      classRate: '0,0,0,100',
      classQueue: '0,0,500',
      ttl: '0,0,0,10m'
    };
    await load(flowWith({ onEngine }));
    expect(engines[0].options).toMatchObject({
      weights: [0, 0, 9, 3, 1, 1, 1, 1, 1],
      agingMs: 0,
      ratePerS: [0, 0, 0, 0, 100, 0, 0, 0, 0],
      queueRecords: [0, 0, 0, 500, 0, 0, 0, 0, 0],
      ttlS: [0, 0, 0, 0, 600, 0, 0, 0, 0]
    });
  });

  test.each([
    ['weights', '8,4,1', /"weights" must be one to eight weights: 0 for class 1/],
    ['agingMs', '-1', /"agingMs" must be a whole number from 0/],
    ['classRate', '0,0,0,10000001', /"classRate" must be one to eight whole numbers/],
    ['classQueue', 'many', /"classQueue" must be one to eight whole numbers/]
  ])('stops with a sentence on %s %s', async (name, value, sentence) => {
    await load([tab, { ...engine, [name]: value }]);
    expect(errors()).toEqual([['engine', expect.stringMatching(sentence)]]);
    expect(engines).toEqual([]);
  });
});

describe('the uplink', () => {
  test('gets sessions, reserve and socket settings as they were entered', async () => {
    const entered = {
      groups: '1/2,3/4',
      priority: '6,4',
      dscp: '46',
      notSentLowat: '0,8192,4096',
      sendBuffer: '',
      congestion: 'cubic'
    };
    await load(flowWith({ onBroker: { ...entered, reserve: '50' } }));
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ ...entered, reserve: 0.5 });
  });

  test('has two sessions and the defaults in a flow from before', async () => {
    await load(flowWith({}));
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ groups: '', priority: '', reserve: 0.25 });
  });

  test.each([
    [{ groups: '1,1' }, /names class 1 twice/],
    [{ groups: '3,4/1' }, /does not begin with the group of the most urgent class/],
    [{ groups: 'all', priority: '6,0' }, /there is one session/],
    [{ dscp: '64' }, /from 0 to 63/],
    [{ congestion: 'a b' }, /'a b' is not a congestion control algorithm/],
    [{ reserve: '101' }, /"reserve" must be a whole number from 0 to 100/]
  ])('refuses %j with a sentence', async (onBroker, sentence) => {
    await load(flowWith({ onBroker }));
    expect(errors()[0]).toEqual(['broker', expect.stringMatching(sentence)]);
    expect(threads).toEqual([]);
  });

  test('shows which classes have no session, and reports each in the stats', async () => {
    const view = { interface: 'eth0', ok: false, kind: 'fq_codel', reason: 'One queue.', bands: [] };
    const asked = [];
    await load(flowWith({}), {}, [
      () => replaceModules({ ...parts, net: { checkUplink: async (address) => (asked.push(address), view) } })
    ]);
    await until(() => threads.length === 1);
    const sessions = [
      session(1, [1, 2], { localAddress: '10.0.0.1' }),
      session(2, [3, 4, 5, 6, 7, 8], { state: 'disconnected', code: 'ECONNREFUSED', reason: 'No.' })
    ];
    threads[0].emit('state', { state: 'disconnected', code: 'ECONNREFUSED', sessions });
    await until(() => /^classes 3–8: nothing listens there/.test(shown('cloud')?.text));
    expect(asked).toEqual(['10.0.0.1']);
    const { body } = await helper.request().get('/seganet/engines/engine/stats').expect(200);
    expect(body.uplinks[0]).toMatchObject({ broker: 'broker', sessions, network: view });
    const warned = helper
      .log()
      .args.filter(([{ id, msg }]) => id === 'broker' && /seganet-net plan/.test(String(msg)));
    expect(warned).toHaveLength(1);
  });
});

describe('a batch', () => {
  const withBatch = (properties) => [tab, engine, broker, node('batch', 'batch', properties, 'cloud'), cloud];

  test('has no configured n and m when it is adaptive, but t', async () => {
    const entered = { minDevices: '50', maxBytes: '1024', maxDelayMs: '700', gapMs: '20', flush: 'adaptive' };
    await load(withBatch({ mode: 'envelope', ...entered }));
    const stage = stageOf('batch');
    expect(stage).toMatchObject({ flush: 'adaptive', gapMs: 20, minDevices: 0, maxDelayMs: 700 });
    expect(stage.maxBytes).toBeLessThan(65536);
    expect(stage.maxBytes).toBeGreaterThan(65536 - 100);
  });

  test('that saves bytes has its patience, and nothing of what the dialog hides', async () => {
    const entered = { minDevices: '50', maxBytes: '1024', maxDelayMs: '3600000', gapMs: '1000' };
    await load(withBatch({ mode: 'envelope', ...entered, flush: 'thrifty', patience: '0,200,3000' }));
    expect(stageOf('batch')).toMatchObject({
      ...{ flush: 'thrifty', minDevices: 0, maxDelayMs: 1000, gapMs: 2 },
      patienceMs: [0, 0, 200, 3000, 0, 0, 0, 0, 0]
    });
  });

  test('keeps its limits in a flow from before', async () => {
    await load(withBatch({ mode: 'records' }));
    expect(stageOf('batch')).toMatchObject({ flush: 'limits', minDevices: 50, maxBytes: 1024 });
  });

  test('needs no room for a key with single records', async () => {
    await load(withBatch({ mode: 'records', flush: 'adaptive' }));
    expect(stageOf('batch').maxBytes).toBe(65536);
  });
});

describe('devices', () => {
  test('have their registered class in the plan', async () => {
    const devices = [{ device: 'pump-*', class: '2' }];
    await load(flowWith({ onDevices: { devices } }));
    expect(stageOf('source').devices).toEqual([{ device: 'pump-*', class: 2 }]);
    await unload();
    await load(flowWith({ onDevices: { devices, devicesJson: '[{"device":"x","class":5}]' } }));
    expect(stageOf('source').devices).toEqual([{ device: 'x', class: 5 }]);
  });

  test('stop their node with a sentence when registered wrongly', async () => {
    await load(flowWith({ onDevices: { devices: [{ device: '', class: 1 }] } }));
    expect(errors()).toEqual([['devices', expect.stringMatching(/Registered device 1 has no device/)]]);
  });

  test.each([
    [{ slowed: true, slowedFrom: 3 }, 'yellow', /^slowed from class 3 · 0 devices/],
    [{ slowed: true, slowedFrom: 1 }, 'yellow', /^slowed \(memory\)$/],
    [{ slowed: false, slowedFrom: 0 }, 'green', /^1884 · 0 devices/]
  ])('%j is shown in %s', async (more, fill, text) => {
    await load(flowWith({}));
    const stats = engines[0].stats.bind(engines[0]);
    engines[0].stats = () => ({ ...stats(), ...more });
    await until(() => text.test(shown('devices')?.text));
    expect(shown('devices').fill).toBe(fill);
  });
});
