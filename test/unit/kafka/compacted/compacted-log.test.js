'use strict';
// Compacted topics over a client that the test plays.

const { EventEmitter } = require('node:events');
const { CompactedLog } = require('../../../../nodes/lib/kafka/compacted/compacted-log');
const { eventually } = require('../../../fixtures/ocf/scenes');

const TOPIC = 'presence';
const OPTIONS = {
  clientId: 'x',
  topics: [TOPIC],
  marker: { key: 'gateway:a', body: {} },
  what: 'The presence',
  forgotten: 'devices',
  mostBytes: 2048,
  creates: true
};

/** A client that has one partition in memory. */
function client() {
  const state = {
    closed: [],
    sent: [],
    created: [],
    failures: [],
    exists: false,
    streams: [],
    partitions: 1,
    policy: 'compact',
    most: Infinity
  };
  const close = (name) => (force, callback) => {
    // Base.close() takes only the callback.
    const done = name === 'admin' ? force : callback;
    state.closed.push([name, typeof done]);
    done();
  };
  const part = (name, more) =>
    Object.assign(new EventEmitter(), { close: close(name), connections: { get() {} }, ...more });
  class Admin {
    constructor() {
      return part('admin', {
        metadata: async () => ({
          topics: new Map(state.exists ? [[TOPIC, { partitionsCount: state.partitions }]] : [])
        }),
        createTopics: async (options) => {
          state.created.push(options);
          state.exists = true;
        },
        describeConfigs: async () => [{ configs: [{ name: 'cleanup.policy', value: state.policy }] }]
      });
    }
  }
  class Consumer {
    constructor() {
      return part('consumer', {
        consume: async () => {
          const failure = state.failures.shift();
          if (failure) throw failure;
          const stream = new EventEmitter();
          state.streams.push(stream);
          for (const message of state.sent) setImmediate(() => stream.emit('data', message));
          return stream;
        }
      });
    }
  }
  class Producer {
    constructor() {
      return part('producer', {
        send: async ({ messages }) => {
          const failure = state.failures.shift();
          if (failure) throw failure;
          const bytes = messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
          if (bytes > state.most) throw Object.assign(new Error('too large'), { apiId: 'MESSAGE_TOO_LARGE' });
          state.sent.push(...messages);
          for (const each of messages) setImmediate(() => state.streams.at(-1).emit('data', each));
        }
      });
    }
  }
  return { state, load: () => ({ Admin, Consumer, Producer }) };
}

test('makes a compacted topic, writes the last values after failures, and closes every client', async () => {
  const { state, load } = client();
  state.failures.push(new Error('The coordinator is not available.'));
  const got = [];
  const cluster = { brokers: [], tlsFiles: {}, reconnectMinMs: 1, reconnectMaxMs: 2 };
  const log = new CompactedLog(/** @type {any} */ ({ ...OPTIONS, cluster }), {
    load,
    records: (all, isCaughtUp) => got.push([all, isCaughtUp]),
    onState: () => {},
    warn: () => {}
  });
  log.publish([{ key: 'device', value: 'early' }]);
  log.start();
  await eventually(() => log.isCaughtUp, 'caught up');
  expect(state.created).toMatchObject([
    { configs: [{ name: 'cleanup.policy', value: 'compact' }], partitions: 1 }
  ]);
  await eventually(() => log.waiting === 0, 'it is written');
  // The clients of the attempt that failed.
  expect(state.closed).toEqual([
    ['admin', 'function'],
    ['consumer', 'function'],
    ['producer', 'function']
  ]);
  state.failures.push(new Error('Not now.'));
  log.publish([
    { key: 'device', value: 'one' },
    { key: 'device', value: 'two' }
  ]);
  await eventually(() => log.attempts === 3 && log.waiting === 0, 'it is written at the next attempt');
  await eventually(() => got.flatMap(([all]) => all).some(({ value }) => value === 'two'), 'it is read');
  expect(state.sent.map(({ value }) => String(value))).not.toContain('one');
  state.sent.push({ topic: TOPIC, key: Buffer.from('device'), value: undefined, partition: 0 });
  state.streams.at(-1).emit('data', state.sent.at(-1));
  state.streams
    .at(-1)
    .emit('data', { topic: TOPIC, key: Buffer.alloc(5000), value: Buffer.alloc(5), partition: 0 });
  state.streams
    .at(-1)
    .emit('data', { topic: TOPIC, key: Buffer.from('device'), value: Buffer.alloc(5000), partition: 0 });
  await eventually(() => got.at(-1)[0].length === 3, 'three more');
  expect(got.at(-1)).toEqual([
    [
      { topic: TOPIC, key: 'device', value: null, headers: {}, at: 0 },
      { topic: TOPIC, key: '', value: null, headers: {}, at: 0 },
      { topic: TOPIC, key: 'device', value: '', headers: {}, at: 0 }
    ],
    true
  ]);
  await log.stop(100);
  expect(log.state).toBe('stopped');
  expect(state.closed).toHaveLength(9);
});

/** @param {ReturnType<typeof client>} fake @param {object} [options] */
function strict({ load }, options = {}) {
  const cluster = { brokers: [], tlsFiles: {}, reconnectMinMs: 1, reconnectMaxMs: 2 };
  const seen = { got: [], written: [], tooLarge: [], warned: [] };
  const log = new CompactedLog(
    /** @type {any} */ ({ ...OPTIONS, creates: false, strict: true, cluster, ...options }),
    {
      load,
      records: (all) => seen.got.push(...all),
      written: (all) => seen.written.push(...all.map(({ key }) => key)),
      tooLarge: ({ key }) => seen.tooLarge.push(key),
      onState: () => {},
      warn: (sentence) => seen.warned.push(sentence)
    }
  );
  return { log, ...seen };
}

test('with strict, refuses a topic that is missing or has two partitions, and creates none', async () => {
  const fake = client();
  const { log } = strict(fake);
  log.start();
  await eventually(() => log.state === 'refused', 'refused');
  expect(log.why?.reason).toMatch(
    /^The cluster has not all of the topics "presence"\. Create them, compacted/
  );
  Object.assign(fake.state, { exists: true, partitions: 2 });
  await eventually(() => /has 2 partitions/.test(log.why?.reason ?? ''), 'the number of partitions');
  fake.state.partitions = 1;
  await eventually(() => log.isCaughtUp, 'caught up');
  expect(fake.state.created).toEqual([]);
  await log.stop(0);
});

test('tells what is written, with its headers, and passes on what the topic refuses as too large', async () => {
  const fake = client();
  Object.assign(fake.state, { exists: true });
  const { log, got, written, tooLarge } = strict(fake);
  log.start();
  await eventually(() => log.isCaughtUp, 'caught up');
  fake.state.most = 100;
  log.publish([
    { key: 'a', value: 'x', headers: { status: 'taken' } },
    { key: 'large', value: 'x'.repeat(200) },
    { key: 'b', value: 'x' }
  ]);
  await eventually(() => log.waiting === 0, 'all is written or refused');
  expect([written, tooLarge]).toEqual([['a', 'b'], ['large']]);
  await eventually(() => got.some(({ key }) => key === 'b'), 'the last one is read');
  expect(got.find(({ key }) => key === 'a')).toMatchObject({ headers: { status: 'taken' }, value: 'x' });
  await log.stop(0);
});

test('keeps the newest records within its limit while the cluster is away', async () => {
  const fake = client();
  Object.assign(fake.state, { exists: true });
  const { log, written } = strict(fake, { mostWaiting: { [TOPIC]: 3 } });
  log.publish(['a', 'b', 'c', 'd', 'b'].map((key) => ({ key, value: 'x' })));
  expect(log.waiting).toBe(3);
  log.start();
  await eventually(() => log.isCaughtUp && log.waiting === 0, 'all is written');
  expect(written).toEqual(['c', 'd', 'b']);
  await log.stop(0);
});

test('notices that others have changed the topic while it is read', async () => {
  const fake = client();
  Object.assign(fake.state, { exists: true });
  const { log, warned } = strict(fake, { checkMs: 5 });
  log.start();
  await eventually(() => log.isCaughtUp, 'caught up');
  fake.state.policy = 'delete';
  await eventually(() => warned.length > 0, 'a warning');
  expect(warned[0]).toMatch(/is not compacted only/);
  fake.state.partitions = 2;
  await eventually(() => /has 2 partitions/.test(log.why?.reason ?? ''), 'refused');
  fake.state.partitions = 1;
  await eventually(() => log.isCaughtUp, 'caught up again');
  await log.stop(0);
});
