'use strict';
// The mqtt source and http devices nodes in a flow, with an engine in memory: settings, the plan, status, the end.

const tls = require('node:tls');
const tlsConfig = require('@node-red/nodes/core/network/05-tls.js');
const { Authority } = require('../fixtures/devices/authority');
const { Broker, freePort, until: untilTrue } = require('../../bench/harness/broker');
const gateway = require('./support/gateway');
const { needs } = require('../../bench/harness/tools');

const { helper, tab, engine, broker, node, load, unload, until, errors, shown, engines } = gateway;
const { test: withMosquitto } = needs('mosquitto', 'openssl');
const { test: withOpenssl } = needs('openssl');

beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => helper.stopServer());

const cloud = node('cloud', 'uplink', { broker: 'broker', topic: 'gw/{gateway}/{class}' });
const flow = (...nodes) => [tab, engine, broker, cloud, ...nodes];
const tick = () => helper.getNode('engine').host.upkeep.tick();

test('answers 200 in http devices when the cloud has the record, 503 while the engine is full', async () => {
  const port = await freePort();
  await load(flow(node('http', 'http-devices', { port: String(port) }, 'cloud')));
  const [fake] = engines;
  expect(fake.plan.stages.find(({ kind }) => kind === 'source')).toMatchObject({ protocol: 'pushed' });
  const post = () => fetch(`http://127.0.0.1:${port}/r/pump/t`, { method: 'POST', body: '1' });
  await until(() => helper.getNode('http').status.called || true);
  tick();
  const answer = await untilOpen(post);
  expect([answer.status, fake.pushes.at(-1)]).toMatchObject([200, { deviceId: 'pump', topic: 'r/pump/t' }]);
  fake.full = 1e9;
  const waiting = post();
  await until(() => helper.getNode('engine').host.inbox.size === 1);
  expect((await post()).status).toBe(503);
  fake.full = 0;
  helper.getNode('engine').host.inbox.run();
  fake.acknowledge();
  expect((await waiting).status).toBe(200);

  /** The listener opens after the plan; the cloud acknowledges the records. @param {() => Promise<Response>} ask */
  async function untilOpen(ask) {
    for (;;) {
      const answering = ask().catch(() => null);
      const timer = setInterval(() => fake.acknowledge(), 5);
      const response = await answering;
      clearInterval(timer);
      if (response) return response;
    }
  }
});

withOpenssl('uses the TLS 1.2 suites of the other listeners in http devices', async () => {
  const authority = new Authority();
  try {
    const { certFile, keyFile } = authority.issue();
    const port = await freePort();
    const own = { id: 'tls', type: 'tls-config', certType: 'files', cert: certFile, key: keyFile };
    await load(flow(node('http', 'http-devices', { port: String(port), tls: 'tls' }, 'cloud'), own), {}, [
      tlsConfig
    ]);
    const connect = (options) =>
      new Promise((resolve) => {
        const socket = tls.connect({ port, host: '127.0.0.1', ca: authority.ca, ...options }, () => {
          resolve(socket.getCipher().name);
          socket.destroy();
        });
        socket.once('error', ({ code }) => resolve(code));
      });
    const by12 = (ciphers) => connect({ maxVersion: 'TLSv1.2', ciphers });
    let suite;
    do {
      tick();
      suite = await by12('ECDHE-ECDSA-AES256-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256');
    } while (suite === 'ECONNREFUSED');
    expect(suite).toBe('ECDHE-ECDSA-AES128-GCM-SHA256');
    expect(await by12('ECDHE-ECDSA-AES256-SHA384')).toMatch(/HANDSHAKE_FAILURE/);
    expect(await by12('ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0')).toMatch(/HANDSHAKE_FAILURE/);
    expect(await connect({ minVersion: 'TLSv1.3' })).toBe('TLS_AES_256_GCM_SHA384');
  } finally {
    authority.remove();
  }
});

test('reports an http devices port in use once and retries; refuses anonymous access elsewhere', async () => {
  const port = await freePort();
  const other = require('node:http').createServer().listen(port, '127.0.0.1');
  await load(
    flow(
      node('http', 'http-devices', { port: String(port) }, 'cloud'),
      node('open', 'http-devices', { host: '0.0.0.0' })
    )
  );
  await until(() => errors().length === 2);
  expect(errors()).toEqual([
    ['open', expect.stringMatching(/Any client that reaches 0.0.0.0/)],
    ['http', expect.stringMatching(/is used by another node or another program/)]
  ]);
  tick();
  expect(shown('http')).toMatchObject({ fill: 'red', text: `port ${port} in use` });
  await new Promise((resolve) => other.close(resolve));
});

test('stops only an mqtt source with wrong settings', async () => {
  await load(
    flow(
      node('none', 'mqtt-source', { topics: '#' }),
      node('wrong', 'mqtt-source', { url: 'mqtt://127.0.0.1:1', topics: 'a/#/b' })
    )
  );
  expect(errors()).toEqual([
    ['none', expect.stringMatching(/address of the source's broker is missing/)],
    ['wrong', expect.stringMatching(/a\/#\/b/)]
  ]);
});

withMosquitto("sends an mqtt source's PUBACK when the cloud has the record, and reports a loop", async () => {
  const local = await Broker.start();
  const url = local.plainUrl;
  const looped = { ...broker, url };
  const source = node('source', 'mqtt-source', { url, topics: '#', deviceLevel: '1' }, 'cloud');
  await load([tab, engine, looped, cloud, source]);
  const warnings = () => helper.log().args.filter(([{ level }]) => level === helper.log().WARN).map(([{ msg }]) => String(msg)); // prettier-ignore
  tick();
  await until(() => warnings().some((text) => /may circulate forever/.test(text)));
  const publisher = await require('mqtt').connectAsync(url);
  const [fake] = engines;
  await untilTrue(async () => {
    await publisher.publishAsync('pump/t', '1', { qos: 1 });
    return fake.held.length > 0;
  });
  expect(fake.held[0]).toMatchObject({ deviceId: 'pump', topic: 'pump/t' });
  const acknowledged = () => /Received PUBACK from gw1-source-source/.test(local.readLog());
  expect(acknowledged()).toBe(false);
  fake.acknowledge();
  await untilTrue(acknowledged);
  await publisher.endAsync();
  await local.remove();
});

withMosquitto(
  'keeps the subscription of an mqtt source at the broker while it is disabled, and ends it when it is deleted',
  async () => {
    const local = await Broker.start();
    const url = local.plainUrl;
    const source = node('source', 'mqtt-source', { url, topics: '#', deviceLevel: '1' }, 'cloud');
    const publisher = await require('mqtt').connectAsync(url);
    const times = (sentence) =>
      local.readLog().split(`Received ${sentence} from gw1-source-source`).length - 1;
    /** Deploys these sources, and starts what waits for the plan. */
    const deploy = async (...sources) => {
      await helper.setFlows([tab, engine, broker, cloud, ...sources], 'nodes');
      tick();
    };
    const publish = (payload) => publisher.publishAsync('pump/t', payload, { qos: 1 });
    const arrived = () => engines.flatMap(({ pushes }) => pushes.map(({ payload }) => String(payload)));
    const arrives = async (payload) => {
      await untilTrue(() => arrived().includes(payload));
      for (const fake of engines) fake.acknowledge();
    };
    try {
      await load(flow(source));
      tick();
      await untilTrue(() => times('SUBSCRIBE') === 1);
      await publish('before');
      await arrives('before');
      await deploy({ ...source, d: true });
      await untilTrue(() => times('DISCONNECT') === 1);
      expect(times('UNSUBSCRIBE')).toBe(0);
      await publish('meanwhile');
      await deploy(source);
      await arrives('meanwhile');
      await untilTrue(() => times('SUBSCRIBE') === 2);
      await publish('after');
      await arrives('after');
      expect(arrived()).toEqual(['before', 'meanwhile', 'after']);
      await deploy();
      await untilTrue(() => times('DISCONNECT') === 2);
      expect(times('UNSUBSCRIBE')).toBe(1);
    } finally {
      await publisher.endAsync();
      await local.remove();
    }
  }
);
