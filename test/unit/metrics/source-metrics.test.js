'use strict';

// The metrics of nodes that only their own protocol has: Kafka and the OCF cloud.

const kafka = require('../../../nodes/lib/kafka/capability');
const { metricsText } = require('../../../nodes/lib/metrics');
const ocf = require('../../../nodes/lib/ocf/capability');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const { cloud, desk, kafkaSource, producer, source } = require('../../fixtures/gateway/source-figures');

/** An engine without records. @param {object} more @returns {any} */
const stats = (more) => ({
  devices: 0,
  heldBytes: 0,
  budgetBytes: 1,
  slowedFrom: 0,
  counters: {},
  drops: {},
  latency: [],
  heldRecords: [],
  unsavedRecords: [],
  storedRecords: [],
  backlogRecords: [],
  deliveredRecords: [],
  deferredRecords: 0,
  log: null,
  uplinks: [],
  ...more
});
/** @param {object} more */
const uplink = (more) => ({
  broker: 'cluster-1',
  name: 'cluster',
  state: 'connected',
  sessions: [],
  ...more
});
/** @param {object} more */
const engine = (more) => ({ id: 'engine-1', name: 'engine', gateway: 'gw', ...more });
/** @param {any} view */
const read = (view) => parseMetrics(metricsText([view], undefined, [kafka.metrics, ocf.metrics]));
/** @param {ReturnType<typeof read>} families @param {string} name @param {object} [labels] that it has, among others */
const valueOf = (families, name, labels = {}) =>
  families
    .get(name)
    ?.samples.find((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))
    ?.value;

test('has the figures of a Kafka uplink beside those of every uplink', () => {
  const families = read(engine({ stats: stats({ uplinks: [uplink({ producers: [producer] })] }) }));
  const of = (name, labels) => valueOf(families, `seganet_kafka_${name}`, { session: '2', ...labels });
  expect(of('sent_records_total')).toBe(50);
  expect(of('retried_records_total')).toBe(8);
  expect(of('dead_letter_records_total')).toBe(1);
  expect(of('partitions')).toBe(9);
  expect(of('trouble', { code: 'TOPIC_AUTHORIZATION_FAILED' })).toBe(1);
  const calm = uplink({ producers: [{ ...producer, code: '' }] });
  expect(read(engine({ stats: stats({ uplinks: [calm] }) })).has('seganet_kafka_trouble')).toBe(false);
});

test('has the lag of a kafka source by topic, and omits what it does not know', () => {
  const families = read(engine({ stats: stats({ sources: [source('kafka', kafkaSource)] }) }));
  const of = (name, labels) =>
    valueOf(families, `seganet_kafka_source_${name}`, { node: 'kafka-1', ...labels });
  expect(of('lag_records', { topic: 'in' })).toBe(17);
  expect(of('lag_records', { topic: 'in-2' })).toBe(0);
  expect(of('records_total', { end: 'too_large' })).toBe(2);
  expect(of('state', { state: 'refused' })).toBe(1);
  expect(of('state', { state: 'connected' })).toBe(0);
  const early = { ...kafkaSource, consumer: null };
  const few = read(engine({ stats: stats({ sources: [source('kafka', early), source('kafka', null)] }) }));
  expect(few.has('seganet_kafka_source_lag_records')).toBe(false);
  expect(few.has('seganet_kafka_source_unsafe_records')).toBe(false);
});

test('has the figures of an OCF cloud, and of the request desk only with a cloud', () => {
  const families = read(engine({ stats: stats({ desk, sources: [source('ocf', cloud)] }) }));
  const of = (name, labels) => valueOf(families, `seganet_ocf_${name}`, { node: 'ocf-1', ...labels });
  expect(of('up')).toBe(1);
  expect(of('devices_on')).toBe(4);
  expect(of('requests_total', { resource: 'route', code: '2.xx' })).toBe(11);
  expect(of('attempts_refused_total', { reason: 'limited' })).toBe(2);
  expect(of('endpoints')).toBe(3);
  expect(of('http_up')).toBe(1);
  expect(of('http_requests_total', { code: '4xx' })).toBe(5);
  expect(of('http_streams')).toBe(2);
  expect(of('http_logins_refused_total', { reason: 'wrong' })).toBe(3);
  const noPort = read(engine({ stats: stats({ desk, sources: [source('ocf', { ...cloud, http: null })] }) }));
  expect(noPort.has('seganet_ocf_http_up')).toBe(false);
  expect(of('region_ready')).toBe(1);
  expect(of('region_topic_waiting')).toBe(3);
  expect(of('region_records_total', { kind: 'repeated' })).toBe(4);
  expect(of('region_links', { state: 'missing' })).toBe(2);
  const regionOf = (/** @type {string} */ name) => ({ region: `coaps+tcp://${name}.example:5685` });
  expect([of('region_link_up', regionOf('b')), of('region_link_up', regionOf('d'))]).toEqual([1, 0]);
  expect(of('region_devices_on', regionOf('c'))).toBe(2);
  expect(of('region_links_total', { end: 'lost' })).toBe(11);
  expect(of('region_requests_open', { side: 'served' })).toBe(7);
  const alone = read(
    engine({ stats: stats({ desk, sources: [source('ocf', { ...cloud, region: null })] }) })
  );
  expect(alone.has('seganet_ocf_region_ready')).toBe(false);
  const calls = families.get('seganet_ocf_store_seconds')?.samples.map(({ name, value }) => [name, value]);
  expect(calls).toEqual([
    ['seganet_ocf_store_seconds_sum', 0.25],
    ['seganet_ocf_store_seconds_count', 20],
    ['seganet_ocf_store_seconds_sum', 0.125],
    ['seganet_ocf_store_seconds_count', 4]
  ]);
  expect(valueOf(families, 'seganet_desk_requests_total', { end: 'refused' })).toBe(1);
  expect(valueOf(families, 'seganet_desk_waiting_bytes')).toBe(2048);
  const closed = read(engine({ stats: stats({ desk, sources: [source('ocf', null)] }) }));
  expect(valueOf(closed, 'seganet_ocf_up')).toBe(0);
  expect(closed.has('seganet_ocf_devices')).toBe(false);
  expect(read(engine({ stats: stats({ desk }) })).has('seganet_desk_requests_total')).toBe(false);
});
