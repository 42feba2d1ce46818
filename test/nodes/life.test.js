'use strict';

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
  outcomeOf,
  shown,
  engines,
  threads,
  calls
} = require('./support/gateway');
const { zeroByClass } = require('../../nodes/lib/base/classes');
const { replaceModules } = require('../../nodes/lib/engine/modules');

beforeAll(() => helper.startServer());
afterEach(async () => {
  await unload();
  delete process.env.SEGANET_TEST_PASSWORD;
});
afterAll(() => helper.stopServer());

const cloud = node('cloud', 'uplink', { broker: 'broker' });
const path = [tab, engine, broker, node('devices', 'mqtt-devices', { port: '1884' }, 'cloud'), cloud];
const record = { deviceId: 'd1', topic: 't', payload: 'x' };

describe('start', () => {
  test('applies the plan before devices may connect', async () => {
    await load(path);
    expect(calls.filter((call) => !call.startsWith('store')).slice(0, 2)).toEqual(['applyPlan', 'listen']);
    expect(engines[0].ports.get(1)).toBe(1884);
  });

  test('passes settings to the engine, with defaults for blank ones', async () => {
    await load([tab, { ...engine, workers: '2', memoryMiB: 16, maxPacketKiB: '' }]);
    expect(engines[0].options).toEqual({
      workers: 2,
      cpus: '',
      memoryMiB: 16,
      maxDevices: 10000,
      wakeIntervalUs: 800,
      rebalance: 'off',
      oddTopics: 'refuse',
      maxPacketBytes: 262144,
      acknowledge: 'safe',
      log: true,
      whenFull: 'slow',
      patienceMs: 1000,
      lingerUrgentMs: 10,
      lingerMs: 50,
      ttlS: zeroByClass(),
      weights: [0, 0, 8, 4, 1, 1, 1, 1, 1],
      agingMs: 5000,
      ratePerS: zeroByClass(),
      queueRecords: zeroByClass(),
      valuesMiB: 16,
      valueTopics: 256,
      valuesNotKept: []
    });
  });

  test('loads the nodes without the addon, reports the reason once, and fails each message', async () => {
    const native = {
      Engine: class {
        constructor() {
          throw new Error('No addon for this platform. Try npm rebuild.');
        }
      }
    };
    await load([tab, engine, node('in', 'ingest')], {}, [() => replaceModules({ native })]);
    expect(errors()).toEqual([
      ['engine', 'The engine did not start: No addon for this platform. Try npm rebuild.']
    ]);
    expect((await outcomeOf('in', record)).message).toBe('engine not started');
    await helper.request().get('/seganet/engines/engine/plan').expect(503);
  });

  test('reports a wrong setting with its remedy, and stops only its node', async () => {
    await load([...path, node('bad', 'batch', { maxBytes: '7' })]);
    expect(errors()).toEqual([
      ['bad', expect.stringMatching(/^"maxBytes" must be a whole number from 64 to/)]
    ]);
    expect((await outcomeOf('bad', record)).message).toMatch(/maxBytes/);
    expect(engines[0].plan.stages).toHaveLength(2);
  });

  test('reports a node without an engine', async () => {
    await load([tab, node('in', 'ingest', { engine: '' })]);
    expect(errors()).toEqual([['in', expect.stringMatching(/No engine is chosen/)]]);
  });

  test('prefers rules from the environment, and reports wrong ones', async () => {
    await load([
      tab,
      engine,
      node('a', 'priority', { rules: [{ class: 1 }], rulesJson: '[{"class":2}]', defaultClass: '4' }),
      node('b', 'priority', { rulesJson: '{' })
    ]);
    expect(engines[0].plan.stages).toEqual([
      { id: 1, kind: 'priority', next: [], messages: false, rules: [{ class: 2 }], defaultClass: 4 }
    ]);
    expect(errors()[0]).toEqual(['b', expect.stringMatching(/not valid JSON/)]);
  });
});

describe('devices', () => {
  test('shows and reports a port in use once, and retries', async () => {
    await load(path);
    engines[0].refuseListen = 'EADDRINUSE';
    const { host } = helper.getNode('engine');
    const changed = path.map((item) => (item.id === 'devices' ? { ...item, port: '1885' } : item));
    await helper.setFlows(changed, 'nodes');
    expect(calls).toContain('unlisten');
    host.upkeep.tick();
    expect(errors()).toEqual([
      ['devices', expect.stringMatching(/1885 is used by another node or another program\. Stop it/)]
    ]);
    expect(shown('devices')).toEqual({
      fill: 'red',
      shape: 'ring',
      text: 'port 1885 in use'
    });
    engines[0].refuseListen = null;
    host.upkeep.tick();
    expect(engines[0].ports.get(1)).toBe(1885);
  });
});

describe('messages into the engine', () => {
  const flow = [
    ...path,
    node('in', 'ingest', {}, 'cloud'),
    node('named', 'ingest', { deviceId: 'pump', deviceIdType: 'str', class: '1' }, 'cloud')
  ];

  test('completes an ingested message when the engine has it', async () => {
    await load(flow);
    expect(await outcomeOf('in', record)).toBeUndefined();
    expect(await outcomeOf('named', { payload: 1 })).toBeUndefined();
    expect(engines[0].pushes[1]).toMatchObject({ deviceId: 'pump', cls: 1, payload: '1' });
  });

  test('fails a message that is not a record with a sentence', async () => {
    await load(flow);
    expect((await outcomeOf('in', { payload: 1 })).message).toMatch(/Set msg.deviceId/);
    expect((await outcomeOf('in', { ...record, payload: Buffer.alloc(262145) })).message).toMatch(
      /packet limit/
    );
  });

  test('holds a message while the engine is full, shows "slowed" in the status, and enters it later', async () => {
    await load(flow);
    engines[0].full = 2;
    const ended = outcomeOf('in', record);
    await until(() => engines[0].full === 1);
    helper.getNode('engine').host.upkeep.tick();
    expect(shown('in')).toMatchObject({ fill: 'yellow', text: 'slowed' });
    helper.getNode('engine').host.upkeep.tick();
    expect(await ended).toBeUndefined();
  });

  test('completes an uplink message when the cloud has acknowledged it', async () => {
    await load(flow);
    const good = outcomeOf('cloud', record);
    await until(() => engines[0].held.length === 1);
    expect(engines[0].pushes[0].ticket).toBeGreaterThan(0);
    engines[0].acknowledge();
    expect(await good).toBeUndefined();
    const refused = outcomeOf('cloud', record);
    await until(() => engines[0].held.length === 1);
    engines[0].acknowledge(0);
    expect((await refused).message).toMatch(/refused the record/);
  });

  test('sends a batch message as an envelope of its class', async () => {
    await load(flow);
    outcomeOf('cloud', { topic: 'up', payload: '{}\n', batch: { priority: 1, firstTs: 5 } });
    await until(() => engines[0].held.length === 1);
    expect(engines[0].pushes[0]).toMatchObject({ topic: 'up', cls: 1, flags: 5, ts: 5 });
  });

  test('seals the batches of one node on flush', async () => {
    await load([tab, engine, node('batch', 'batch')]);
    expect(await outcomeOf('batch', { flush: true })).toBeUndefined();
    expect(calls).toContain('flush 1');
  });
});

describe('uplink', () => {
  test('gives the thread its topics before the queue', async () => {
    await load(path);
    await until(() => threads.length === 1);
    expect(threads[0]).toMatchObject({
      token: 1,
      uplink: 1,
      stages: {
        2: {
          topic: 'gw/{gateway}/{class}',
          recordTopic: '{topic}',
          qos: 1,
          history: 'property',
          historySuffix: '/history'
        }
      },
      options: {
        gateway: 'gw1',
        clientId: 'gw1',
        inflight: 32,
        minTls: 'TLSv1.3',
        protocolVersion: 5,
        tls: {},
        backlogRate: 5000,
        backlogShare: 0.5,
        ackTimeoutMs: 15000,
        userTimeoutMs: 10000
      }
    });
  });

  test('takes credentials from the store, with names of environment variables in them', async () => {
    process.env.SEGANET_TEST_PASSWORD = 'secret';
    await load(path, { broker: { username: 'me', password: '${SEGANET_TEST_PASSWORD}' } });
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ username: 'me', password: 'secret' });
  });

  test('takes credentials from properties of the flow too; an unset variable is not a credential', async () => {
    process.env.SEGANET_TEST_PASSWORD = 'secret';
    const own = { ...broker, username: '${SEGANET_TEST_UNSET}', password: '${SEGANET_TEST_PASSWORD}' };
    await load([tab, engine, own, cloud]);
    await until(() => threads.length === 1);
    expect(threads[0].options).toMatchObject({ password: 'secret' });
    expect(threads[0].options).not.toHaveProperty('username');
  });

  test('takes certificates from a TLS node', async () => {
    const tls = { id: 'tls', type: 'tls-config', verifyservercert: true, servername: 'cloud' };
    const tlsConfig = require('@node-red/nodes/core/network/05-tls.js');
    await load([tab, engine, tls, { ...broker, tls: 'tls' }, cloud], { tls: { cadata: 'CA' } }, [tlsConfig]);
    await until(() => threads.length === 1);
    expect(threads[0].options.tls).toMatchObject({ rejectUnauthorized: true, servername: 'cloud' });
  });

  test('shows the uplink with the status of its broker', async () => {
    await load(path);
    await until(() => threads.length === 1);
    const { host } = helper.getNode('engine');
    host.upkeep.tick();
    expect(shown('cloud')).toEqual({ fill: 'green', shape: 'dot', text: 'connected · 3 ms' });
    threads[0].emit('state', { state: 'disconnected', code: 'ECONNREFUSED', reason: 'long' });
    engines[0].backlog = 12345;
    host.upkeep.tick();
    await until(() => shown('cloud').fill === 'red');
    expect(shown('cloud').text).toBe('nothing listens there · 12.3 k kept');
  });

  test('gives a redeployed broker the same queue, and the engine stays', async () => {
    await load(path);
    await until(() => threads.length === 1);
    const changed = path.map((item) => (item.id === 'broker' ? { ...item, keepalive: '10' } : item));
    await helper.setFlows(changed, 'nodes');
    await until(() => calls.includes('attach 2'));
    expect(calls.indexOf('thread.stop 1')).toBeLessThan(calls.indexOf('thread 2'));
    expect(threads[1]).toMatchObject({ token: 1, uplink: 1 });
    expect(engines).toHaveLength(1);
  });

  test('keeps a broker beyond its engine, and it serves the next one', async () => {
    await load(path);
    await until(() => threads.length === 1);
    const changed = path.map((item) => (item.id === 'engine' ? { ...item, workers: '3' } : item));
    await helper.setFlows(changed, 'nodes');
    await until(() => calls.includes('attach 2'));
    expect(calls.indexOf('thread.stop 1')).toBeLessThan(calls.indexOf('engine.close'));
    expect(threads[1]).toMatchObject({ token: 2, uplink: 1 });
  });

  test('stops the thread when no uplink node is left', async () => {
    await load(path);
    await until(() => threads.length === 1);
    await helper.setFlows(
      path.filter(({ id }) => id !== 'cloud'),
      'nodes'
    );
    await until(() => calls.includes('thread.stop 1'));
  });

  test('refuses a second engine on the same broker with advice to use another', async () => {
    const other = { ...engine, id: 'other' };
    await load([...path, other, node('second', 'uplink', { engine: 'other', broker: 'broker' })]);
    expect(errors()).toEqual([
      ['second', expect.stringMatching(/already serves another engine.*second broker/)]
    ]);
  });

  test.each([
    [{ broker: '' }, /No uplink broker/],
    [{ topic: 'a/#' }, /"topic": must not hold #/],
    [{ qos: '2' }, /"qos" must be one of 1, 0/]
  ])('refuses uplink %j', async (properties, reason) => {
    await load([tab, engine, broker, node('cloud', 'uplink', { broker: 'broker', ...properties })]);
    expect(errors()).toEqual([['cloud', expect.stringMatching(reason)]]);
  });

  test('reports a broker without an address, and its uplinks', async () => {
    await load([tab, engine, { ...broker, url: '' }, cloud]);
    expect(errors()).toEqual([
      ['broker', expect.stringMatching(/address of the uplink broker is missing/)],
      ['cloud', expect.stringMatching(/has a wrong setting. The address of the uplink broker is missing/)]
    ]);
    await until(() => shown('cloud')?.text === 'broker: wrong setting', 'status');
  });

  test('names the variable of a broker whose address is not set', async () => {
    await load([tab, engine, { ...broker, url: '${NO_SUCH_URL}' }, cloud]);
    expect(errors()[0]).toEqual([
      'broker',
      expect.stringMatching(/^NO_SUCH_URL, the address of the uplink broker, is not set in the environment/)
    ]);
    await until(() => shown('cloud')?.text === 'not set: NO_SUCH_URL', 'status');
  });
});

describe('end', () => {
  const warnings = () => {
    const spy = helper.log();
    return spy.args.map(([entry]) => entry).filter(({ id, level }) => id && level === spy.WARN);
  };

  test('stops reading, seals batches, stops the uplink, and then the engine', async () => {
    await load(path);
    await until(() => threads.length === 1);
    calls.length = 0;
    await helper.clearFlows();
    expect(calls).toEqual([
      'stopReading',
      'flush 0',
      'thread.stop 1',
      'saveSessions',
      'store.stop',
      'engine.close'
    ]);
    expect(warnings()).toEqual([]);
  });

  test('keeps the uplink running while the engine holds records', async () => {
    await load(path);
    await until(() => threads.length === 1);
    helper.getNode('cloud').receive({ ...record });
    await until(() => engines[0].held.length === 1);
    const closed = helper.clearFlows();
    await until(() => calls.filter((call) => call === 'flush 0').length > 2);
    expect(calls).not.toContain('thread.stop 1');
    engines[0].acknowledge();
    await closed;
    expect(calls.slice(-4)).toEqual(['thread.stop 1', 'saveSessions', 'store.stop', 'engine.close']);
  });

  test('leaves no listener on Node-RED after the end', async () => {
    const before = helper._events.listenerCount('flows:started');
    await load(path);
    await helper.clearFlows();
    expect(helper._events.listenerCount('flows:started')).toBe(before);
    expect(helper._events.listenerCount('flows:stopping')).toBe(0);
  });
});

test('sends counters and rates from the stats node', async () => {
  await load([...path, node('stats', 'stats', { intervalS: '1' }, 'out'), node('out', 'helper')]);
  const msg = await new Promise((resolve) => helper.getNode('out').on('input', resolve));
  expect(msg.topic).toBe('stats');
  expect(msg.payload).toMatchObject({
    devices: 0,
    workers: [{ index: 0 }],
    uplinks: [{ state: 'connected', broker: 'broker' }],
    waiting: 0,
    rates: { stages: { 1: { recordsIn: 0 } } }
  });
});

test('sends a heartbeat from the stats node instead of the counters', async () => {
  const settings = { intervalS: '1', content: 'heartbeat' };
  await load([...path, node('stats', 'stats', settings, 'out'), node('out', 'helper')]);
  const msg = await new Promise((resolve) => helper.getNode('out').on('input', resolve));
  expect(msg.topic).toBe('heartbeat');
  expect(msg.payload).toMatchObject({ gateway: 'gw1', uplink: 'connected', devices: 0, dropped: 0 });
  expect(msg.payload).not.toHaveProperty('counters');
});
