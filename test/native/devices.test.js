'use strict';

const mqtt = require('mqtt');
const { Engine, CommandEnd } = require('../../native');
const { stage, usualPlan, until } = require('./support/addon');

/** @type {InstanceType<typeof Engine>} */
let engine;
/** @type {import('mqtt').MqttClient[]} */
let clients;
let port = 0;

beforeEach(() => {
  clients = [];
  engine = new Engine({ workers: 2 }, () => {});
  engine.applyPlan(usualPlan());
  port = engine.listen(stage.source, { host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.endAsync(true)));
  engine.close();
});

/** @param {import('mqtt').IClientOptions} options @param {boolean} [manualConnect] */
function device(options, manualConnect = false) {
  const client = mqtt.connect({
    host: '127.0.0.1',
    port,
    reconnectPeriod: 0,
    manualConnect,
    ...options
  });
  client.on('error', () => {}); // a taken over client has one
  clients.push(client);
  return client;
}

/** @param {import('mqtt').IClientOptions} options */
async function connected(options) {
  const client = device(options, true);
  const connack = new Promise((resolve, reject) => {
    client.once('connect', resolve);
    client.once('error', reject);
  });
  client.connect();
  return { client, connack: await connack };
}

/** Drops the connection as a network does. @param {import('mqtt').MqttClient} client */
const cut = (client) => client.stream.destroy();

const records = () => engine.stats().counters.recordsReceived;

const keeping = {
  4: { protocolVersion: 4, clean: false },
  5: { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 60 } }
};

describe.each([4, 5])('mqtt.js with protocol level %i', (level) => {
  /** @type {import('mqtt').IClientOptions} */
  const options = /** @type {any} */ (keeping)[level];

  test('delivers a QoS 2 record once, also when the connection breaks in between', async () => {
    const { client } = await connected({ ...options, clientId: 'd', reconnectPeriod: 50 });
    // The PUBREC is lost, and the client publishes again.
    let cuts = 0;
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'pubrec' && (cuts += 1) === 1) cut(client);
    });
    const { client: other } = await connected({ ...options, clientId: 'other' });
    await Promise.all([client.publishAsync('t', '1', { qos: 2 }), other.publishAsync('t', '1', { qos: 2 })]);
    expect(records()).toBe(2);
  });

  test('continues a session with its subscriptions and an unanswered command', async () => {
    const first = await connected({ ...options, clientId: 'd' });
    expect(first.connack.sessionPresent).toBe(false);
    await first.client.subscribeAsync('cmd/d/#', { qos: 1 });
    // Not acknowledged: the connection breaks instead.
    first.client.handleMessage = () => cut(first.client);
    expect(engine.command(1, 'd', 'cmd/d/lamp', Buffer.from('on'), 1, 10_000)).toBe(0);
    await until(() => engine.agents('', 1)[0]?.connected === false, 'the break');
    expect(engine.takeCommandResults()).toEqual([]);
    const second = device({ ...options, clientId: 'd' }, true);
    const got = new Promise((resolve) =>
      second.once('message', (topic, payload, packet) => resolve([topic, `${payload}`, packet.dup]))
    );
    const connack = new Promise((resolve) => second.once('connect', resolve));
    second.connect();
    expect((await connack).sessionPresent).toBe(true);
    expect(await got).toEqual(['cmd/d/lamp', 'on', true]);
    expect(await until(() => pair(engine.takeCommandResults()), 'the answer')).toEqual([1, CommandEnd.TAKEN]);
  });

  test('lets an id that connects again take over', async () => {
    const { client } = await connected({ protocolVersion: options.protocolVersion, clientId: 'd' });
    /** @type {number | undefined} */
    let code;
    client.on('disconnect', (packet) => (code = packet.reasonCode));
    const closed = new Promise((resolve) => client.once('close', resolve));
    await connected({ protocolVersion: options.protocolVersion, clientId: 'd' });
    await closed;
    expect(code).toBe(level === 5 ? 0x8e : undefined);
    const events = engine.takeEvents(1000);
    // One event of a kind waits for a device: the first of the two 'connected' is gone.
    expect(events.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['disconnected', 'takenOver'],
      ['connected', '']
    ]);
    expect(events[0]).toMatchObject({ device: 'd', stage: stage.source });
  });

  test('publishes a will as a record of its device', async () => {
    const { client } = await connected({
      protocolVersion: options.protocolVersion,
      clientId: 'd',
      will: { topic: 'will/d', payload: Buffer.from('gone'), qos: 1, retain: false }
    });
    cut(client);
    await until(() => records() === 1, 'the will');
  });
});

/** @param {number[]} results */
const pair = (results) => (results.length > 0 ? results : null);

test('delivers commands to devices that listen, and reports the others', async () => {
  const { client } = await connected({ clientId: 'd' });
  /** @type {[string, string][]} */
  const got = [];
  client.on('message', (topic, payload) => got.push([topic, `${payload}`]));
  const payload = Buffer.from('on');
  engine.command(1, 'nobody', 'cmd/nobody/x', payload, 1, 1000);
  expect(await until(() => pair(engine.takeCommandResults()), 'an end')).toEqual([1, CommandEnd.OFFLINE]);
  engine.command(2, 'd', 'cmd/d/x', payload, 1, 1000);
  expect(await until(() => pair(engine.takeCommandResults()), 'an end')).toEqual([
    2,
    CommandEnd.NOT_LISTENING
  ]);
  await client.subscribeAsync('cmd/d/#', { qos: 1 });
  await until(() => engine.takeEvents(1000).some(({ kind }) => kind === 'listening'), 'the event');
  engine.command(3, 'd', 'cmd/d/x', payload, 1, 1000);
  expect(await until(() => pair(engine.takeCommandResults()), 'an end')).toEqual([3, CommandEnd.TAKEN]);
  expect(got).toEqual([['cmd/d/x', 'on']]);
  expect(engine.agents('', 10)).toEqual([
    expect.objectContaining({ device: 'd', connected: true, listening: true, records: 0, class: 0 })
  ]);
});

test('serves devices behind a bridge, and refuses rows that are none', async () => {
  /** @param {unknown} bridges */
  const planWith = (bridges) => {
    const plan = usualPlan();
    Object.assign(/** @type {object} */ (plan.stages.find(({ kind }) => kind === 'source')), { bridges });
    return plan;
  };
  for (const [rows, reason] of /** @type {[unknown, RegExp][]} */ ([
    ['z2m', /bridges must be an array/],
    [[1], /bridge must be an object/],
    [[{ topic: '{device}' }], /device must be a string/],
    [[{ device: 'b' }], /bridge 1: it needs either a topic or a member/],
    [[{ device: 'b', topic: 'a/{device}x' }], /one whole level is \{device\}/],
    [[{ device: 'b', member: '$.' }], /bridge 1: member: column 3/],
    [[{ device: 'b', topic: `{device}/${'x'.repeat(1016)}` }], /topic must be at most 1024 bytes/],
    [Array(65).fill({ device: 'b', topic: '{device}' }), /bridges: more than 64/]
  ])) {
    expect(() => engine.applyPlan(planWith(rows))).toThrow(reason);
  }
  engine.applyPlan(planWith([{ device: 'b', topic: 'x/{device}/#' }]));
  const { client } = await connected({ clientId: 'b' });
  /** @type {string[]} */
  const got = [];
  client.on('message', (topic) => got.push(topic));
  await client.subscribeAsync('#', { qos: 1 });
  await client.publishAsync('x/lamp', '1', { qos: 1 });
  await client.publishAsync('x/b', '2', { qos: 1 });
  expect(engine.agents('', 10)).toEqual([
    expect.objectContaining({ device: 'b', bridge: '', records: 1 }),
    expect.objectContaining({ device: 'lamp', bridge: 'b', records: 1, connected: true, listening: true })
  ]);
  const payload = Buffer.from('on');
  engine.command(1, 'lamp', 'cmd/lamp/set', payload, 1, 1000);
  expect(await until(() => pair(engine.takeCommandResults()), 'an end')).toEqual([1, CommandEnd.TAKEN]);
  engine.command(2, 'lamp', 'cmd/lamp/set', payload, 1, 1000, true);
  expect(await until(() => pair(engine.takeCommandResults()), 'an end')).toEqual([2, CommandEnd.TAKEN]);
  expect(got).toEqual(['x/lamp/set', 'cmd/lamp/set']);
});

test('pages agents() by id', async () => {
  for (const clientId of ['b', 'a', 'c']) await connected({ clientId });
  expect(engine.agents('', 2).map(({ device: id }) => id)).toEqual(['a', 'b']);
  expect(engine.agents('b', 2).map(({ device: id }) => id)).toEqual(['c']);
  expect(engine.agents('c', 2)).toEqual([]);
});

test('names wrong arguments', () => {
  const bytes = Buffer.from('x');
  const bad = /** @type {[any[], RegExp][]} */ ([
    [[0, 'd', 't', bytes, 1, 1], /ticket/],
    [[1.5, 'd', 't', bytes, 1, 1], /ticket/],
    [[1, 7, 't', bytes, 1, 1], /deviceId/],
    [[1, 'd', null, bytes, 1, 1], /topic/],
    [[1, 'd', 't', 'x', 1, 1], /payload/],
    [[1, 'd', 't', bytes, 2, 1], /qos/],
    [[1, 'd', 't', bytes, 1, 0], /timeoutMs/],
    [[1, 'd', 't', bytes, 1, 3_600_001], /timeoutMs/]
  ]);
  for (const [args, name] of bad) {
    expect(() => /** @type {any} */ (engine.command)(...args)).toThrow(name);
  }
  expect(() => engine.agents('', 0)).toThrow(/limit/);
  expect(() => engine.agents('', 10_001)).toThrow(/limit/);
  expect(() => /** @type {any} */ (engine.agents)(7, 1)).toThrow(/after/);
  expect(engine.command(1, '', 't', bytes, 1, 1)).toBe(2);
  engine.close();
  expect(engine.command(1, 'd', 't', bytes, 1, 1)).toBe(3);
});
