'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
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
  threads,
  stores,
  calls,
  parts
} = require('./support/gateway');
const { replaceModules } = require('../../nodes/lib/engine/modules');

beforeAll(() => helper.startServer());
afterEach(async () => {
  await unload();
  delete process.env.SEGANET_TEST_CA;
});
afterAll(() => helper.stopServer());

const flowPath = [
  tab,
  engine,
  broker,
  node('devices', 'mqtt-devices', { port: '1884' }, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' })
];
const withEngine = (properties) =>
  flowPath.map((item) => (item.id === 'engine' ? { ...item, ...properties } : item));
const warnings = () => {
  const spy = helper.log();
  const entries = spy.args.map(([entry]) => entry).filter(({ id, level }) => id && level === spy.WARN);
  return entries.map(({ msg }) => msg);
};

describe('settings', () => {
  test('make records safe by default, in a folder of the engine in the user folder', async () => {
    await load(flowPath);
    expect(stores).toHaveLength(1);
    expect(stores[0].token).toBe(1);
    expect(stores[0].options).toEqual({
      directory: expect.stringMatching(/.\/seganet-log\/engine$/),
      limitMiB: 1024,
      classLimitMiB: [0, 0, 0, 0, 0, 0, 0, 0, 0],
      whenFull: 'slow'
    });
    expect(engines[0].plan.stages.find(({ kind }) => kind === 'uplink')).toMatchObject({ name: 'cloud' });
  });

  test('reach the store and the engine', async () => {
    await load(
      withEngine({
        acknowledge: 'stored',
        logDir: '/var/lib/log',
        logMiB: '64',
        logClassMiB: '0,0,8,16',
        ttl: '0,0,7d,1h',
        whenFull: 'drop',
        lingerMs: 20
      })
    );
    expect(stores[0].options).toEqual({
      directory: '/var/lib/log',
      limitMiB: 64,
      classLimitMiB: [0, 0, 0, 8, 16, 0, 0, 0, 0],
      whenFull: 'drop'
    });
    expect(engines[0].options).toMatchObject({
      acknowledge: 'stored',
      log: true,
      whenFull: 'drop',
      ttlS: [0, 0, 0, 604800, 3600, 0, 0, 0, 0],
      lingerMs: 20
    });
  });

  test('of a pair name its log by gateway and engine', async () => {
    await load(withEngine({ acknowledge: 'replicated', logUrl: 'postgres://u@a,b/db' }));
    expect(stores[0].options).toMatchObject({
      url: 'postgres://u@a,b/db',
      name: 'gw1/engine',
      place: os.hostname()
    });
  });

  test.each([
    ['a log that is not kept', { acknowledge: 'received', logUrl: 'postgres://u@a/db' }, /no log to share/],
    ['another kind of database', { logUrl: 'mysql://u@a/db' }, /must be an address such as postgres/]
  ])('of a pair refuse %s', async (_what, properties, sentence) => {
    await load(withEngine(properties));
    expect(errors()[0]).toEqual(['engine', expect.stringMatching(sentence)]);
    expect(stores).toEqual([]);
  });

  test('of a pair refuse a second engine with a shared log', async () => {
    const logUrl = 'postgres://u@a/db';
    await load([...withEngine({ logUrl }), { ...engine, id: 'other', logUrl }]);
    expect(errors()).toEqual([
      ['other', expect.stringMatching(/Only one engine of a gateway may share its log/)]
    ]);
    expect(stores).toHaveLength(1);
  });

  test('keep no log with "received"', async () => {
    await load(withEngine({ acknowledge: 'received' }));
    expect(stores).toEqual([]);
    expect(engines[0].options).toMatchObject({ acknowledge: 'received', log: false });
    const stats = await helper.request().get('/seganet/engines/engine/stats').expect(200);
    expect(stats.body.log).toBeNull();
  });

  test('are named when wrong, and the engine does not start', async () => {
    await load(withEngine({ ttl: '7w' }));
    expect(errors()[0]).toEqual(['engine', expect.stringMatching(/"ttl" must be one to eight times/)]);
    expect(engines).toEqual([]);
  });
});

describe('a standby', () => {
  test('opens no listener and no uplink, and refuses messages, until it has the log', async () => {
    /** @type {() => void} */
    let take = () => {};
    const { StoreThread } = parts.store;
    parts.store.StoreThread = class extends StoreThread {
      owning = new Promise((resolve) => (take = resolve)).then(() => (this.owning = null));
    };
    await load(withEngine({ acknowledge: 'replicated', logUrl: 'postgres://u@a,b/db' }));
    parts.store.StoreThread = StoreThread;
    const { host } = helper.getNode('engine');
    stores[0].emit('state', {
      state: 'standby',
      code: '',
      reason: '',
      pair: { role: 'standby', owner: 'b' }
    });
    host.upkeep.tick();
    expect(shown('devices')).toEqual({ fill: 'grey', shape: 'ring', text: 'standby' });
    expect([host.plan, threads]).toEqual([null, []]);
    const refused = await new Promise((resolve) => host.inbox.put(1, { payload: Buffer.alloc(1) }, resolve));
    expect(refused).toMatchObject({ code: 'SEGANET_STANDBY' });
    expect(host.log.standby).toBe('yes');
    take();
    stores[0].emit('state', { state: 'ready', code: '', reason: '', pair: { role: 'active' } });
    await until(() => threads.length === 1 && host.plan !== null);
    expect(host.log.standby).toBe('no');
    stores[0].emit('counts', true);
    expect([host.replicas.state, engines[0].diskCounts]).toEqual(['replicated', true]);
  });
});

describe('status', () => {
  test('shows devices that wait for a full disk; the engine reports it once, and its end', async () => {
    await load(withEngine({ acknowledge: 'stored' }));
    const { host } = helper.getNode('engine');
    const full = { state: 'failing', code: 'ENOSPC', reason: 'The disk is full. Make room.' };
    for (let i = 0; i < 3; i++) stores[0].emit('state', { ...full, chunks: i });
    host.upkeep.tick();
    expect(shown('devices')).toEqual({ fill: 'red', shape: 'ring', text: 'waiting: disk full' });
    expect(errors()).toEqual([['engine', 'The disk is full. Make room.']]);
    const { body } = await helper.request().get('/seganet/engines/engine/stats').expect(200);
    expect(body.log).toMatchObject({ state: 'failing', code: 'ENOSPC', chunks: 2 });
    stores[0].emit('state', { state: 'ready', code: '', reason: '' });
    host.upkeep.tick();
    await until(() => shown('devices').fill === 'green');
  });

  test('does not show devices as waiting while the cloud takes their records', async () => {
    await load(flowPath);
    await until(() => threads.length === 1);
    stores[0].emit('state', { state: 'failing', code: 'EIO', reason: 'The disk fails.' });
    helper.getNode('engine').host.upkeep.tick();
    expect(shown('devices')).toMatchObject({ fill: 'green' });
  });

  test('warns of damaged chunks', async () => {
    await load(flowPath);
    stores[0].emit('problem', { code: 'CORRUPT', reason: 'A chunk is damaged and was set aside.', count: 1 });
    expect(warnings()).toEqual(['A chunk is damaged and was set aside.']);
  });
});

describe('end', () => {
  test('closes the database on a deploy before the next engine opens it', async () => {
    await load(flowPath);
    await until(() => threads.length === 1);
    calls.length = 0;
    await helper.setFlows(withEngine({ workers: '3' }), 'full');
    await until(() => stores.length === 2);
    expect(calls.indexOf('store.stop')).toBeLessThan(calls.indexOf('engine.close'));
    expect(calls.indexOf('engine.close')).toBeLessThan(calls.indexOf('store.attach'));
  });
});

test.each([
  ['connected', 2000],
  ['disconnected', 0]
])('waits for pending acknowledgements: %s %i ms', async (state, ms) => {
  await load(flowPath);
  await until(() => threads.length === 1);
  threads[0].emit('state', { state });
  await helper.clearFlows();
  expect(threads[0].stopMs).toBe(ms);
});

describe("certificates from the TLS node's files", () => {
  const tlsConfig = require('@node-red/nodes/core/network/05-tls.js');
  const tls = { id: 'tls', type: 'tls-config', verifyservercert: true };
  const flow = (files) => [
    tab,
    engine,
    { ...tls, ...files },
    { ...broker, tls: 'tls' },
    node('cloud', 'uplink', { broker: 'broker' })
  ];

  test('are passed to the thread by name, which reads them at each connection', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-tls-'));
    const ca = path.join(folder, 'ca.pem');
    fs.writeFileSync(ca, 'CA');
    process.env.SEGANET_TEST_CA = ca;
    await load(flow({ ca: '${SEGANET_TEST_CA}', cert: '${SEGANET_TEST_NONE}', key: '' }), {}, [tlsConfig]);
    fs.rmSync(folder, { recursive: true });
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ tlsFiles: { ca }, tls: { rejectUnauthorized: true } });
  });

  test('do not stop the uplink permanently when they are missing now', async () => {
    await load(flow({ ca: '/nowhere/ca.pem' }), {}, [tlsConfig]);
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ tlsFiles: { ca: '/nowhere/ca.pem' } });
  });

  test('cause an error, and show it in the status of the uplink, when the thread refuses them', async () => {
    await load(flow({ verifyservercert: false }), {}, [
      tlsConfig,
      () => {
        const UplinkThread = class {
          constructor() {
            throw new TypeError('The certificate is not verified. Verify it.');
          }
        };
        replaceModules({ ...parts, uplink: { ...parts.uplink, UplinkThread } });
      }
    ]);
    await until(() => errors().length > 0);
    expect(errors()).toEqual([
      ['engine', expect.stringMatching(/did not start: The certificate is not verified/)]
    ]);
    helper.getNode('engine').host.upkeep.tick();
    expect(shown('cloud')).toMatchObject({
      fill: 'red',
      text: 'The certificate is not verified. Verify it.'
    });
  });

  test('have no path when they are uploaded', async () => {
    await load(flow({}), { tls: { cadata: 'CA' } }, [tlsConfig]);
    await until(() => threads.length === 1);
    expect(threads[0].options).not.toHaveProperty('tlsFiles');
  });
});
