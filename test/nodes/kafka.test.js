'use strict';
// The nodes of Kafka with an engine and threads in memory.

const {
  helper,
  tab,
  engine,
  node,
  load,
  unload,
  until,
  errors,
  warnings,
  shown,
  threads,
  engines
} = require('./support/gateway');

beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => helper.stopServer());

const more = ['kafka', 'kafka-uplink', 'kafka-source'].map((name) => require(`../../nodes/seganet-${name}`));
const cluster = {
  id: 'cluster',
  type: 'seganet-kafka',
  brokers: 'localhost:9092, localhost:9093',
  security: 'plaintext'
};
const uplink = (/** @type {object} */ properties) =>
  node('cloud', 'seganet-kafka-uplink', { cluster: 'cluster', ...properties });
/** @param {...object} nodes */
const run = (...nodes) => load([tab, engine, ...nodes], {}, more);

test('starts the thread of the cluster with its options, and the topics and source of the uplink', async () => {
  await run(cluster, node('in', 'ingest', {}, 'cloud'), uplink({ topic: 'a.{class}', createTopics: 'on' }));
  await until(() => threads.length === 1 && threads[0].stages);
  expect(threads[0].options).toMatchObject({
    brokers: [
      { host: 'localhost', port: 9092 },
      { host: 'localhost', port: 9093 }
    ],
    gateway: 'gw1',
    url: 'kafka://localhost:9092',
    sasl: null
  });
  expect(Object.values(threads[0].stages)).toEqual([
    { topic: 'a.{class}', envelopeTopic: 'seganet.{class}', create: true, source: 'ingest' }
  ]);
  expect(errors()).toEqual([]);
});

test('has the records of an uplink with a wrong topic wait, and names the mistake', async () => {
  await run(cluster, node('in', 'ingest', {}, 'cloud'), uplink({ topic: 'a/{class}' }));
  expect(errors()).toEqual([
    ['cloud', expect.stringMatching(/"topic": .*character that Kafka does not allow/)]
  ]);
  expect(engines[0].plan.stages.some(({ kind }) => kind === 'uplink')).toBe(true);
  expect(threads).toHaveLength(0);
});

test('names a cluster that is missing, or that has a wrong setting', async () => {
  await run(
    { ...cluster, brokers: 'http://x' },
    uplink({}),
    node('other', 'seganet-kafka-uplink', { cluster: '' })
  );
  expect(errors()).toEqual(
    expect.arrayContaining([
      ['cluster', expect.stringMatching(/is no address/)],
      ['cloud', expect.stringMatching(/"cluster" has a wrong setting/)],
      ['other', expect.stringMatching(/No Kafka cluster is chosen/)]
    ])
  );
});

test('shows the state of the cluster at the uplink', async () => {
  await run(cluster, node('in', 'ingest', {}, 'cloud'), uplink({}));
  await until(() => threads.length === 1);
  const reason = 'The topic "seganet.bulk" does not exist in the cluster.';
  threads[0].emit('state', { state: 'refused', code: 'UNKNOWN_TOPIC_OR_PARTITION', reason, sessions: [] });
  await until(() => shown('cloud')?.fill === 'red');
  expect(shown('cloud').text).toBe('topic does not exist');
});

test('refuses a source without topics, a device or a cluster', async () => {
  const source = (/** @type {string} */ id, /** @type {object} */ properties) =>
    node(id, 'seganet-kafka-source', { cluster: 'cluster', topics: 'a', ...properties });
  await run(
    cluster,
    source('none', { topics: '' }),
    source('name', { topics: 'a/b' }),
    source('device', { deviceFrom: 'header' }),
    source('away', { cluster: 'x' })
  );
  expect(errors()).toEqual(
    expect.arrayContaining([
      ['none', expect.stringMatching(/topics are missing/)],
      ['name', expect.stringMatching(/"a\/b" is not the name/)],
      ['device', expect.stringMatching(/header with the device id is missing/)],
      ['away', expect.stringMatching(/No Kafka cluster is chosen/)]
    ])
  );
});

test('warns about a source that reads what an uplink of its engine writes', async () => {
  await run(
    // Nothing listens there.
    { ...cluster, brokers: '127.0.0.1:1' },
    node('loop', 'seganet-kafka-source', { cluster: 'cluster', topics: 'other, seganet.normal' }, 'cloud'),
    uplink({})
  );
  const tick = () => engines[0].doorbell();
  await until(() => {
    tick();
    return warnings().some(([id, text]) => id === 'loop' && /records may circulate forever/.test(text));
  });
});
