'use strict';

const { EventEmitter } = require('node:events');
const { ClientLife } = require('../../../../nodes/lib/kafka/uplink/client-life');

const RETRY_MAX_MS = 60000;
const protocol = (/** @type {string} */ apiId) => Object.assign(new Error(apiId), { apiId, apiCode: 1 });
const network = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** A client of Kafka that notes whether it was closed. */
class Client extends EventEmitter {
  isClosed = false;
  connections = { get() {} };

  get closed() {
    return this.isClosed;
  }

  /** @param {any[]} args the last one is a callback */
  close(...args) {
    this.isClosed = true;
    args.at(-1)();
  }
}

/** A life whose clients the test makes. */
class Bench {
  /** @param {(bench: Bench, connection: any) => Promise<void>} open */
  constructor(open) {
    /** @type {string[]} */
    this.events = [];
    /** @type {Client[]} */
    this.clients = [];
    /** @type {any[]} */
    this.connections = [];
    this.loadError = null;
    const cluster = {
      brokers: [],
      connectTimeoutMs: 1,
      ackTimeoutMs: 1,
      tlsFiles: {},
      secure: false,
      sasl: null,
      reconnectMinMs: 100,
      reconnectMaxMs: RETRY_MAX_MS
    };
    this.life = new ClientLife(/** @type {any} */ ({ cluster, clientId: 'c' }), {
      load: () => {
        if (this.loadError) throw this.loadError;
        return {};
      },
      open: (connection) => {
        this.connections.push(connection);
        this.clients.push(connection.add(new Client()));
        return open(this, connection);
      },
      onConnected: () => this.events.push('ready'),
      onEnd: () => this.events.push('end'),
      refusal: ({ kind }) => (kind === 'topic' ? 'No such topic.' : ''),
      trouble: (detail) => `Trouble: ${detail}`,
      onState: () => this.events.push(this.life.state)
    });
  }
}

/** Lets promises go on. */
const settle = () => jest.advanceTimersByTimeAsync(0);

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('connects, and makes other clients after an error', async () => {
  const bench = new Bench(async () => {});
  bench.life.start();
  await settle();
  expect([bench.life.state, bench.life.why, bench.life.attempts]).toEqual(['connected', null, 1]);
  bench.connections[0].fail(network());
  expect(bench.life).toMatchObject({
    state: 'disconnected',
    why: { code: 'ECONNREFUSED', reason: 'Trouble: connect ECONNREFUSED' }
  });
  expect(bench.clients[0].isClosed).toBe(true);
  await jest.advanceTimersByTimeAsync(1000);
  expect([bench.life.state, bench.life.attempts]).toEqual(['connected', 2]);
  expect(bench.events).toEqual([
    'connecting',
    'connected',
    'ready',
    'end',
    'disconnected',
    'connected',
    'ready'
  ]);
  await bench.life.stop();
  expect(bench.clients.every(({ isClosed }) => isClosed)).toBe(true);
});

test.each([
  ['a topic', protocol('UNKNOWN_TOPIC_OR_PARTITION'), 'UNKNOWN_TOPIC_OR_PARTITION', /^No such topic\.$/],
  ['a password', protocol('SASL_AUTHENTICATION_FAILED'), 'SASL_AUTHENTICATION_FAILED', /refuses this gateway/]
])('waits for the operator if the cluster refuses %s', async (_what, error, code, reason) => {
  const bench = new Bench(() => Promise.reject(error));
  bench.life.start();
  await settle();
  expect(bench.life).toMatchObject({
    state: 'refused',
    why: { code, reason: expect.stringMatching(reason) }
  });
  await jest.advanceTimersByTimeAsync(RETRY_MAX_MS - 1);
  expect(bench.life.attempts).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(bench.life.attempts).toBe(2);
  await bench.life.stop();
});

test('shows the sentence of a client that cannot be loaded', async () => {
  const bench = new Bench(async () => {});
  bench.loadError = Object.assign(new Error('Install it.'), { code: 'NO_CLIENT' });
  bench.life.start();
  await settle();
  expect(bench.life).toMatchObject({ state: 'refused', why: { code: 'NO_CLIENT', reason: 'Install it.' } });
  await bench.life.stop();
});

test('counts only the first error of a connection', async () => {
  const bench = new Bench(async () => {});
  bench.life.start();
  await settle();
  const [former] = bench.connections;
  former.fail(network());
  former.fail(network());
  bench.life.fail(network());
  await jest.advanceTimersByTimeAsync(1000);
  expect([bench.life.state, bench.life.attempts]).toEqual(['connected', 2]);
  former.fail(network());
  expect(bench.life.state).toBe('connected');
  await bench.life.stop();
});

test('passes the records of a stream until the connection is over, and its end is an error', async () => {
  const streams = [new EventEmitter(), new EventEmitter()];
  /** @type {string[]} */
  const got = [];
  const bench = new Bench(async ({ connections }, connection) =>
    connection.read(streams[connections.length - 1], (/** @type {string} */ record) => got.push(record))
  );
  bench.life.start();
  await settle();
  streams[0].emit('data', 'one');
  streams[0].emit('close');
  expect(bench.life.why).toMatchObject({ reason: 'Trouble: The stream ended.' });
  streams[0].emit('data', 'two');
  streams[0].emit('error', network());
  await jest.advanceTimersByTimeAsync(1000);
  streams[1].emit('data', 'three');
  expect([got, bench.life.state]).toEqual([['one', 'three'], 'connected']);
  await bench.life.stop();
});

test('closes clients and streams that are ready only after the end', async () => {
  /** @type {() => void} */
  let goOn = () => {};
  const late = new Client();
  const stream = new Client();
  const bench = new Bench(async (_bench, connection) => {
    await new Promise((resolve) => (goOn = () => resolve(undefined)));
    connection.add(late);
    connection.read(stream, () => {});
  });
  bench.life.start();
  await settle();
  await bench.life.stop();
  goOn();
  await settle();
  expect([late.isClosed, stream.isClosed, bench.life.state]).toEqual([true, true, 'stopped']);
  await jest.advanceTimersByTimeAsync(1000);
  expect(jest.getTimerCount()).toBe(0);
});
