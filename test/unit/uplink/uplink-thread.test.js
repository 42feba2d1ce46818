'use strict';

// The uplink thread against a real broker: mosquitto over TLS 1.3 on loopback.

const mqtt = require('mqtt');
const { Broker, freePort, until } = require('../../../bench/harness/broker');
const { Link } = require('../../fixtures/uplink/link');
const { temporaryCertificates } = require('../../../bench/harness/certificates');
const { Load, UplinkBench, firstArrivals } = require('../../fixtures/uplink/uplink-bench');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

const { describe: withBroker } = needs('mosquitto');
const { test: withSs } = needs('ss');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startBroker(options) {
  const broker = await Broker.start(options);
  cleanups.push(() => broker.remove());
  return broker;
}

function startUplink(broker, options = {}) {
  const bench = new UplinkBench({ url: broker.url, tls: { ca: broker.ca }, ...options });
  cleanups.push(() => bench.stop(0));
  return bench;
}

async function openLink(port) {
  const link = await Link.open(port);
  cleanups.push(() => link.close());
  return link;
}

/** Adds load of all classes every few ms. @returns {() => void} stop */
function underLoad(load) {
  let step = 0;
  const timer = setInterval(() => {
    step++;
    load.add(3, 8);
    load.add(4, 5);
    if (step % 3 === 0) load.add(1);
    if (step % 5 === 0) load.add(2);
  }, 4);
  return () => clearInterval(timer);
}

withBroker('uplink thread', () => {
  test('delivers topics, payloads and retained flags unchanged to subscribers', async () => {
    const broker = await startBroker();
    const got = [];
    const subscriber = await mqtt.connectAsync(broker.plainUrl);
    cleanups.push(() => subscriber.endAsync(true));
    subscriber.on('message', (topic, payload, { qos }) => got.push([topic, payload.toString(), qos]));
    await subscriber.subscribeAsync('#', { qos: 1 });
    const bench = startUplink(broker);
    bench.engine.push(
      { class: 3, device: 'd', topic: 'single/1', payload: 'one' },
      {
        class: 3,
        records: [
          { device: 'd', topic: 'r/1', payload: '{"v":1}' },
          { device: 'e', topic: 'r/2', payload: Buffer.from([0x80]).toString('latin1'), flags: 3 }
        ]
      },
      { class: 3, kind: 1, payload: '{"d":"d"}\n' }
    );
    await until(() => got.length === 4);
    expect(got).toEqual([
      ['single/1', 'one', 1],
      ['r/1', '{"v":1}', 1],
      ['r/2', '\u0080', 1],
      ['gw/gw1/normal', '{"k":"gw1/1000/3/3","d":"d"}\n', 1]
    ]);
    await until(() => bench.engine.held.size === 0);
    expect(broker.received('gw1').find(({ topic }) => topic === 'r/2').retain).toBe(true);
  });

  test('sends the records of a batch in one TLS record', async () => {
    // MQTT 5 of mosquitto grants a Receive Maximum of 20 otherwise.
    const broker = await startBroker({ config: 'max_inflight_messages 100' });
    const link = await openLink(broker.port);
    // A quarter is for class 1 only.
    const bench = startUplink(broker, { url: `mqtts://localhost:${link.port}`, inflight: 80 });
    await until(() => bench.state === 'connected');
    const load = new Load(bench.engine);
    const before = link.records.length;
    load.add(3, 50);
    await until(() => bench.engine.held.size === 0);
    expect(broker.received('gw1')).toHaveLength(50);
    expect(link.records.length - before).toBe(1);
  });

  test("does not exceed the broker's Receive Maximum", async () => {
    const broker = await startBroker({ config: 'max_inflight_messages 5' });
    const bench = startUplink(broker, { inflight: 100 });
    const load = new Load(bench.engine);
    for (let i = 0; i < 20; i++) load.add(3, 25);
    await until(() => bench.engine.held.size === 0);
    expect(firstArrivals(broker.received('gw1'))).toEqual(load.expected());
    // mosquitto closes the connection of a client that sends more.
    expect(bench.history).toEqual(['connecting', 'connected']);
    expect(Math.max(...bench.states.map((s) => s.inflight))).toBeLessThanOrEqual(5);
  });

  test.each([4, 5])(
    'loses nothing and keeps first deliveries in order when the broker stops for 3 s under load (MQTT version %i)',
    async (protocolVersion) => {
      const broker = await startBroker();
      const bench = startUplink(broker, { protocolVersion });
      const load = new Load(bench.engine);
      const stopLoad = underLoad(load);
      cleanups.push(stopLoad);
      await until(() => bench.engine.delivered.length > 300);
      await broker.stop();
      await until(() => bench.state !== 'connected');
      const stoppedAt = Date.now();
      await until(() => Date.now() - stoppedAt > 3000);
      expect(bench.engine.held.size).toBeGreaterThan(0);
      await broker.start();
      await until(() => bench.engine.delivered.length > 3000, 20000);
      stopLoad();
      await until(() => bench.engine.held.size === 0, 20000);
      expect(firstArrivals(broker.received('gw1'))).toEqual(load.expected());
      expect(bench.engine.refused).toEqual([]);
      expect(await bench.stop()).toBe(true);
      const { acknowledged, published } = bench.states.at(-1);
      expect(published).toBe(load.made.reduce((a, b) => a + b));
      expect(acknowledged).toBe(published);
    }
  );

  test('loses nothing and keeps first deliveries in order when the broker is killed three times mid-flight', async () => {
    const broker = await startBroker();
    const bench = startUplink(broker);
    const load = new Load(bench.engine);
    const stopLoad = underLoad(load);
    cleanups.push(stopLoad);
    for (let round = 1; round <= 3; round++) {
      const goal = bench.engine.delivered.length + 200;
      await until(() => bench.engine.delivered.length > goal, 20000);
      await broker.kill();
      await broker.start();
    }
    await until(() => bench.state === 'connected');
    stopLoad();
    await until(() => bench.engine.held.size === 0, 20000);
    expect(firstArrivals(broker.received('gw1'))).toEqual(load.expected());
  });

  test('names an untrusted authority in the reason, and retries', async () => {
    const broker = await startBroker();
    const other = temporaryCertificates();
    cleanups.push(() => other.remove());
    const bench = startUplink(broker, { tls: { ca: other.ca } });
    await until(() => bench.states.filter((s) => s.state === 'refused').length >= 2);
    const { reason, code } = bench.states.find((s) => s.state === 'refused');
    expect(reason).toMatch(/not trusted here\. Add the authority's certificate/);
    expect(code).toMatch(/CERT|SIGNATURE|ISSUER/);
  });

  test('names our name in the reason for a certificate for another one', async () => {
    const broker = await startBroker({ san: 'DNS:broker.example.com' });
    const bench = startUplink(broker);
    await until(() => bench.state === 'refused');
    expect(bench.states.find((s) => s.state === 'refused').reason).toMatch(/not for localhost/);
    const named = startUplink(broker, { tls: { ca: broker.ca, servername: 'broker.example.com' } });
    await until(() => named.state === 'connected');
  });

  test.each([4, 5])(
    'retries a refused user name until it is accepted (MQTT version %i)',
    async (protocolVersion) => {
      const broker = await startBroker({ config: 'allow_anonymous false' });
      const bench = startUplink(broker, { protocolVersion, refusedMinMs: 100 });
      await until(() => bench.states.filter((s) => s.state === 'refused').length >= 2);
      expect(bench.states.find((s) => s.state === 'refused').reason).toMatch(/does not allow this client/);
    }
  );

  test('reports that nothing listens, and connects when the broker comes', async () => {
    const broker = await startBroker();
    await broker.stop();
    const bench = startUplink(broker);
    await until(() => bench.state === 'disconnected');
    expect(bench.states.at(-1).reason).toMatch(/Nothing listens at localhost/);
    bench.engine.push({ topic: 'waits' });
    await broker.start();
    await until(() => bench.engine.held.size === 0);
  });

  test('refuses a topic that the broker forbids after five attempts, and sends others', async () => {
    const broker = await startBroker();
    const fs = require('node:fs');
    const acl = `${broker.folder}/acl`;
    fs.writeFileSync(acl, 'topic readwrite allowed/#\n');
    fs.appendFileSync(`${broker.folder}/conf`, `acl_file ${acl}\n`);
    await broker.stop();
    await broker.start();
    const bench = startUplink(broker, { retryMs: 20 });
    bench.engine.push({ topic: 'forbidden/1' }, { topic: 'allowed/1' });
    await until(() => bench.engine.held.size === 0);
    expect(bench.engine.refused).toHaveLength(1);
    expect(bench.engine.delivered).toHaveLength(1);
    const reported = () => bench.problems.find(({ code }) => code === 'PUBACK_135');
    await until(reported);
    expect(reported().reason).toMatch(/refused a record 5 times \(not authorized/);
    expect(bench.states.at(-1).failed).toBe(1);
  });

  withSs('sets keep-alive and time-out on the socket under TLS', async () => {
    const broker = await startBroker();
    const bench = startUplink(broker);
    await until(() => bench.state === 'connected');
    const { execFileSync } = require('node:child_process');
    const seen = execFileSync('ss', ['-tnoH', 'dport', '=', `:${broker.port}`], { encoding: 'utf8' });
    // Without it there is no timer on an idle connection.
    expect(seen).toMatch(/timer:\(keepalive,\d+(\.\d+)?(sec|ms)/);
    expect(bench.problems).toEqual([]);
  });

  test('notices a half-open connection by missing acknowledgements and renews it', async () => {
    const broker = await startBroker();
    const link = await openLink(broker.port);
    const bench = startUplink(broker, { url: `mqtts://localhost:${link.port}`, ackTimeoutMs: 1500 });
    const load = new Load(bench.engine);
    load.add(3, 20);
    await until(() => bench.engine.held.size === 0);
    link.freeze();
    for (let i = 0; i < 10; i++) load.add(3, 20);
    await until(() => bench.engine.held.size === 0, 10000);
    expect(link.connections).toBe(2);
    expect(bench.states.find((s) => s.code === 'ACK_TIMEOUT').reason).toMatch(/acknowledged nothing for 2 s/);
    expect(firstArrivals(broker.received('gw1'))).toEqual(load.expected());
  });

  test('restarts after two crashes of the thread under load, with nothing lost and counters continued', async () => {
    const broker = await startBroker();
    const bench = startUplink(broker);
    const load = new Load(bench.engine);
    const stopLoad = underLoad(load);
    cleanups.push(stopLoad);
    for (let round = 1; round <= 2; round++) {
      const goal = bench.engine.delivered.length + 200;
      await until(() => bench.engine.delivered.length > goal, 20000);
      bench.engine.crash();
      await until(() => bench.engine.opened === round + 1);
    }
    stopLoad();
    await until(() => bench.engine.held.size === 0, 20000);
    expect(firstArrivals(broker.received('gw1'))).toEqual(load.expected());
    const crash = bench.states.find((s) => s.code === 'THREAD');
    expect(crash.reason).toMatch(/crash asked for by the test.*restarts in \d+ ms/);
    await bench.stop();
    expect(bench.states.at(-1).acknowledged).toBeGreaterThan(400);
  });

  test('waits for acknowledgements at stop and sends DISCONNECT, and reports drained when all is sent', async () => {
    const broker = await startBroker();
    const bench = startUplink(broker);
    const load = new Load(bench.engine);
    for (let i = 0; i < 100; i++) load.add(3, 10);
    await until(() => bench.engine.delivered.length > 0);
    expect(await bench.thread.drain(10000)).toBe(true);
    expect(broker.received('gw1').length).toBe(1000);
    load.add(1);
    await until(() => bench.engine.held.size === 0);
    expect(await bench.stop()).toBe(true);
    expect(bench.state).toBe('stopped');
    await until(() => /Received DISCONNECT from gw1/.test(broker.readLog()));
  });

  test('keeps the time-outs of stop and drain when the broker is away', async () => {
    const bench = new UplinkBench({ url: `mqtt://127.0.0.1:${await freePort()}` });
    bench.engine.push({ topic: 'kept' });
    await until(() => bench.state === 'disconnected');
    expect(await bench.thread.drain(50)).toBe(false);
    const began = Date.now();
    await bench.stop(30000);
    expect(Date.now() - began).toBeLessThan(20000);
    expect(bench.engine.held.size).toBe(1);
  });

  test('is not delayed in its stop by a half-open connection', async () => {
    const broker = await startBroker();
    const link = await openLink(broker.port);
    const bench = startUplink(broker, { url: `mqtts://localhost:${link.port}` });
    await until(() => bench.state === 'connected');
    link.freeze();
    bench.engine.push({ topic: 'kept' });
    await until(() => bench.engine.opened === 1);
    const began = Date.now();
    await bench.stop(300);
    expect(Date.now() - began).toBeLessThan(2500 * PATIENCE);
    expect(bench.engine.held.size).toBe(1);
  });
});
