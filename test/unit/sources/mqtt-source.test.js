'use strict';
// A source against a real mosquitto, with an engine in memory.

const mqtt = require('mqtt');
const { Broker, until } = require('../../../bench/harness/broker');
const { CODES } = require('../../../nodes/lib/engine/inbox');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { schema, sourceOptions } = require('../../../nodes/lib/sources/mqtt-source/mqtt-source-options');
const { Source } = require('../../../nodes/lib/sources/mqtt-source/mqtt-source');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('mosquitto', 'openssl');

jest.setTimeout(30000);

describe('with a broker', () => {
  /** @type {Broker} */
  let broker;
  /** @type {mqtt.MqttClient} */
  let publisher;
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  let count = 0;

  beforeAll(async () => {
    broker = await Broker.start();
    await until(() => connects(broker), 5000);
    publisher = await mqtt.connectAsync(broker.plainUrl, { protocolVersion: 5, reconnectPeriod: 50 });
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  afterAll(async () => {
    await publisher.endAsync(true);
    await broker.remove();
  });

  /** The plain listener opens after the other one. */
  const connects = ({ plainUrl }) => mqtt.connectAsync(plainUrl, { reconnectPeriod: 0 }).then((client) => client.endAsync().then(() => true), () => false); // prettier-ignore

  /** @param {object} config of the node @param {object} [more] */
  function start(config, { tls = {}, maxPacketBytes = 10000, clientId = `source${++count}` } = {}) {
    const engine = {
      taken: [],
      waiting: [],
      isSafeAtOnce: true,
      warned: [],
      put(args, done, options) {
        engine.taken.push({ ...args, ...options, payload: String(args.payload) });
        if (engine.isSafeAtOnce) done();
        else engine.waiting.push(done);
      }
    };
    const { values, problems } = parseOptions(
      { url: broker.plainUrl, reconnectMinMs: 20, reconnectMaxMs: 50, deviceLevel: 1, ...config },
      schema
    );
    expect(problems).toEqual([]);
    const { options } = sourceOptions(values, { clientId, maxPacketBytes, tls });
    const put = (...given) => engine.put(...given);
    const source = new Source(options, { put, warn: (text) => engine.warned.push(text) });
    source.start();
    let isStopped = false;
    const stop = async (forGood = true) => {
      if (!isStopped) await source.stop(forGood);
      isStopped = true;
    };
    cleanups.push(() => stop());
    const ready = () => until(() => source.subscribed.size > 0, 5000, 'the subscription');
    return { source, engine, ready, stop, clientId };
  }

  const payloads = ({ taken }) => taken.map(({ payload }) => payload);
  /** mqtt.js does not enforce the broker's Receive Maximum, 20, and the broker refuses packets beyond it. */
  const burst = async (topic, from, to, qos) => {
    for (let at = from; at < to; at += 20) {
      const some = numbers(at, Math.min(at + 20, to));
      await Promise.all(some.map((payload) => publisher.publishAsync(topic, payload, { qos })));
    }
  };
  const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => String(from + i));

  test.each([
    ['5', 0],
    ['5', 2],
    ['4', 1],
    ['4', 2]
  ])('receives 1,000 messages in order with MQTT %s, QoS %i', async (protocolVersion, qos) => {
    const { engine, ready, source } = start({ topics: 'a/#', protocolVersion, qos });
    await ready();
    await burst('a/x', 0, 1000, qos);
    await until(() => engine.taken.length === 1000, 5000);
    expect(payloads(engine)).toEqual(numbers(0, 1000));
    expect(engine.taken[0]).toMatchObject({ deviceId: 'a', topic: 'a/x', delivery: qos > 0 });
    await until(() => source.acknowledgements.size === 0);
  });

  test.each(['4', '5'])(
    'takes no more than the window, and keeps the connection, with MQTT %s',
    async (version) => {
      const { engine, ready, source } = start({
        topics: 'w/#',
        window: 10,
        protocolVersion: version,
        keepalive: 5
      });
      await ready();
      engine.isSafeAtOnce = false;
      const published = burst('w/x', 0, 100, 1);
      await until(() => engine.taken.length === 10);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(engine.taken).toHaveLength(10);
      source.tick();
      while (engine.taken.length < 100 || engine.waiting.length > 0) {
        engine.waiting.shift()?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await published;
      expect(payloads(engine)).toEqual(numbers(0, 100));
    }
  );

  test.each([
    ['4', 1],
    ['5', 2]
  ])(
    'takes a message that waits in the engine when the connection breaks once only (MQTT %s, QoS %i)',
    async (version, qos) => {
      const { engine, ready, source } = start({ topics: 'b/#', protocolVersion: version, qos, window: 20 });
      await ready();
      engine.isSafeAtOnce = false;
      await burst('b/x', 0, 60, qos);
      await until(() => engine.taken.length === 20);
      for (let i = 0; i < 3; i++) {
        source.reading.client.stream.destroy();
        await until(() => source.state !== 'connected');
        await until(() => source.state === 'connected');
        // QoS 2 holds also when the answer is lost with the next connection; with QoS 1 that message would arrive
        // twice.
        if (qos === 2) engine.waiting.shift()();
      }
      engine.isSafeAtOnce = true;
      for (const done of engine.waiting.splice(0)) done();
      await until(() => engine.taken.length >= 60 && source.acknowledgements.size === 0, 5000);
      expect(payloads(engine)).toEqual(numbers(0, 60));
      expect(source.counters.repeated).toBeGreaterThan(0);
    }
  );

  test('receives messages from its absence afterwards; a deleted source leaves no subscription', async () => {
    const first = start({ topics: 'p/#' });
    await first.ready();
    await first.stop(false);
    await burst('p/x', 0, 5, 1);
    const second = start({ topics: 'p/#' }, { clientId: first.clientId });
    await until(() => second.engine.taken.length === 5);
    await second.stop(true);
    await burst('p/x', 5, 6, 1);
    const third = start({ topics: 'q/#' }, { clientId: first.clientId });
    await third.ready();
    expect(third.engine.taken).toEqual([]);
  });

  test('receives a record again that the engine did not take', async () => {
    const { engine, ready, source } = start({ topics: 'n/#' });
    await ready();
    engine.isSafeAtOnce = false;
    const published = burst('n/x', 0, 1, 1);
    await until(() => engine.waiting.length === 1);
    engine.waiting.shift()(Object.assign(new Error('closed'), { code: CODES.CLOSED }));
    await until(() => engine.taken.length === 2);
    engine.waiting.shift()();
    await published;
    expect(source.counters.repeated).toBe(0);
  });

  test('reconnects without a growing pause after refusals of a flow, as long as messages get through', async () => {
    const { engine, ready, source } = start({ topics: 'r/#', window: 2, reconnectMaxMs: 20000 });
    await ready();
    const refused = new Set();
    const safe = new Set();
    engine.put = (args, done) => {
      const number = Number(args.payload);
      // The first attempt of each fifth message.
      if (number % 5 === 4 && !refused.has(number)) {
        refused.add(number);
        const error = Object.assign(new Error('not delivered'), { code: CODES.NOT_DELIVERED });
        return setTimeout(() => done(error), 5);
      }
      safe.add(number);
      done();
    };
    await burst('r/x', 0, 60, 1);
    // Twelve refusals: with doubled pauses from 20 ms, the last ones are 20 s each.
    await until(() => safe.size === 60 && source.acknowledgements.size === 0, 12000);
    expect(refused.size).toBe(12);
  });

  test('reconnects with a growing pause while a flow refuses all messages', async () => {
    const { engine, ready, source } = start({ topics: 's/#', reconnectMaxMs: 20000 });
    await ready();
    engine.put = (_args, done) =>
      setImmediate(() => done(Object.assign(new Error('not delivered'), { code: CODES.NOT_DELIVERED })));
    await burst('s/x', 0, 1, 1);
    const { choice } = source.session;
    const delays = ['lost', 'failed'].map((end) => jest.spyOn(choice, /** @type {'lost'} */ (end)));
    await until(() => delays.some(({ mock }) => mock.results.some(({ value }) => value >= 160)), 10000);
    engine.put = (_args, done) => done();
    await until(() => source.state === 'connected' && source.acknowledgements.size === 0, 10000);
  });

  test.each(['4', '5'])(
    'leaves the messages with its broker while it is held (MQTT %s)',
    async (protocolVersion) => {
      const { engine, ready, source } = start({ topics: 'hold/#', protocolVersion });
      await ready();
      source.hold(true);
      const published = burst('hold/x', 0, 20, 1);
      await until(() => source.waits);
      await published;
      expect(engine.taken).toEqual([]);
      source.hold(false);
      await until(() => engine.taken.length === 20);
    }
  );

  test('takes retained messages, or does not request them', async () => {
    await publisher.publishAsync('ret/x', 'old', { qos: 1, retain: true });
    const taking = start({ topics: 'ret/#' });
    await until(() => taking.engine.taken.length === 1);
    expect(taking.engine.taken[0].flags & 2).toBe(2);
    for (const protocolVersion of ['4', '5']) {
      const ignoring = start({ topics: 'ret/#', retained: 'ignore', protocolVersion });
      await ignoring.ready();
      await publisher.publishAsync('ret/y', 'new', { qos: 1 });
      await until(() => ignoring.engine.taken.length > 0);
      expect(payloads(ignoring.engine)).toEqual(['new']);
    }
  });

  test('shares a subscription between two sources', async () => {
    const both = [1, 2].map(() => start({ topics: '$share/g/s/#' }));
    await Promise.all(both.map(({ ready }) => ready()));
    await burst('s/x', 0, 50, 1);
    const all = () => both.flatMap(({ engine }) => payloads(engine));
    await until(() => all().length === 50);
    expect(all().sort((a, b) => a - b)).toEqual(numbers(0, 50));
    expect(both.every(({ engine }) => engine.taken.length > 0)).toBe(true);
  });

  test('acknowledges, counts and reports once a message that cannot be a record', async () => {
    const { engine, ready, source } = start({ topics: 'x/#', deviceLevel: 3 }, { maxPacketBytes: 1000 });
    await ready();
    await publisher.publishAsync('x/y', 'no device', { qos: 1 });
    await publisher.publishAsync('x/y', 'no device', { qos: 2 });
    await publisher.publishAsync('x/y/z', Buffer.alloc(80000), { qos: 1 });
    engine.isSafeAtOnce = false;
    await publisher.publishAsync('x/y/z', 'long', { qos: 1 });
    await until(() => engine.waiting.length === 1);
    engine.waiting.shift()(Object.assign(new Error('too long'), { code: CODES.TOO_LONG }));
    await until(() => source.acknowledgements.size === 0);
    expect(source.counters).toMatchObject({ refused: 2, tooLarge: 2 });
    expect(engine.warned).toHaveLength(3);
  });

  test('reconnects to a restarted broker, with its session', async () => {
    const { engine, ready, source } = start({ topics: 'r/#' });
    await ready();
    await broker.stop();
    await until(() => source.state === 'disconnected');
    expect(source.why.reason).toMatch(/\.$/);
    await broker.start();
    await until(() => source.state === 'connected', 5000);
    await until(() => publisher.connected, 5000);
    await burst('r/x', 0, 3, 1);
    await until(() => engine.taken.length === 3);
  });

  test('checks the authority over TLS', async () => {
    const trusting = start({ url: broker.url, topics: 't/#' }, { tls: { ca: broker.ca } });
    await trusting.ready();
    const careful = start({ url: broker.url, topics: 't/#' });
    await until(() => careful.engine.warned.length > 0);
    expect([careful.source.state, careful.engine.warned[0]]).toEqual([
      expect.stringMatching(/refused|reconnecting|connecting/),
      expect.stringMatching(/not trusted here/)
    ]);
  });
});

describe('reports a broker that refuses', () => {
  test('reports a wrong password, and retries indefinitely', async () => {
    const closed = await Broker.start({ config: 'password_file /dev/null', log: false });
    const warned = [];
    const { values } = parseOptions(
      { url: closed.plainUrl, topics: '#', username: 'me', password: 'no' },
      schema
    );
    const { options } = sourceOptions(values, { clientId: 's', maxPacketBytes: 1000, tls: {} });
    Object.assign(options.session, { refusedMinMs: 20, refusedMaxMs: 30 });
    const source = new Source(options, { put: () => {}, warn: (text) => warned.push(text) });
    let attempts = 0;
    source.session.handlers.onState = (state, why) => {
      if (state === 'refused') attempts++;
      source.onState(state, why);
    };
    source.start();
    await until(() => attempts >= 3);
    expect(warned.join(' ')).toMatch(/user name|does not allow/);
    await source.stop(false);
    await closed.remove();
  });
});
