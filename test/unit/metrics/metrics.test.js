'use strict';

// The metrics as a scraper reads them.

const { COUNTERS } = require('../../../nodes/lib/metrics/counters');
const { addDemand } = require('../../../nodes/lib/demand/metrics');
const { addShadows } = require('../../../nodes/lib/shadow/metrics');
const { forecastMetrics } = require('../../fixtures/forecast/metrics');
const { addDirectory } = require('../../../nodes/lib/directory/metrics');
const kafka = require('../../../nodes/lib/kafka/capability');
const parquet = require('../../../nodes/lib/parquet/capability');
const { Gateways } = require('../../../nodes/lib/kafka/gateways/gateways');
const { open } = require('../../../nodes/lib/kafka/gateways/joined');
const { metricsText } = require('../../../nodes/lib/metrics');
const ocf = require('../../../nodes/lib/ocf/capability');
const { addOverlay } = require('../../../nodes/lib/overlay/metrics');
const { addSeries } = require('../../../nodes/lib/series/metrics');
const withTenants = require('../../../nodes/lib/tenants/capability');
const { Exposition, Family } = require('../../../nodes/lib/metrics/text');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const { documentedMetrics } = require('../../fixtures/gateway/metrics-page');
const {
  cloud,
  desk,
  kafkaSource,
  overlay,
  producer,
  directory,
  series,
  source
} = require('../../fixtures/gateway/source-figures');

const { demand, shadows } = require('../../fixtures/gateway/demand-figures');
const { session, uplink, written } = require('../../fixtures/gateway/uplink-figures');

const zeros = [0, 0, 0, 0, 0, 0, 0, 0, 0];

/** @param {object} [more] @returns {any} */
const stats = (more) => ({
  devices: 64,
  heldBytes: 2048,
  budgetBytes: 67108864,
  slowedFrom: 0,
  counters: { recordsReceived: 1000, bytesReceived: 300_000 },
  deliveredRecords: [0, 3, 0, 987, 0, 0, 0, 0, 0],
  lateRecords: [0, 0, 0, 5, 0, 0, 0, 0, 0],
  heldRecords: [0, 1, 0, 7, 0, 0, 0, 0, 0],
  unsavedRecords: zeros,
  storedRecords: zeros,
  backlogRecords: zeros,
  drops: { expired: [0, 0, 0, 2, 0, 0, 0, 0, 0], noRoute: [5, ...zeros.slice(1)] },
  latency: [{ class: 3, count: 990, p50: 1.5, p90: 2, p99: 9, max: 30 }],
  placement: { workers: [{ busy: 0.25, connections: 64, slots: 1024, silentMs: 120 }] },
  log: { state: 'ready', bytes: 100, limitBytes: 1000, fileBytes: 4096, dead: 0, quarantined: 0 },
  deferredRecords: 5,
  deliveries: { waiting: 5, delivered: 40, refused: 2, withheld: 1, timedOut: 2 },
  commands: { taken: 3, refused: 0, expired: 0, timeout: 1, full: 0, queued: 2, waiting: 1 },
  uplinks: [uplink()],
  ...more
});
/** @param {object} [more] */
const engine = (more) => ({ id: 'engine-1', name: 'engine', gateway: 'gw', stats: stats(), ...more });
/** @param {any[]} engines */
const read = (...engines) => parseMetrics(metricsText(engines));
/** @param {ReturnType<typeof read>} families @param {string} name @param {object} [labels] that it has, among others */
const valueOf = (families, name, labels = {}) => {
  const family = families.get(name.replace(/_seconds_count$/, '_seconds'));
  const found = (family?.samples ?? []).filter(
    (each) => each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value)
  );
  expect([name, labels, found.length]).toEqual([name, labels, found.length > 1 ? 'one' : found.length]);
  return found[0]?.value;
};

test("has the engine's counters, with class and reason", () => {
  const families = read(engine());
  const of = (name, labels) => valueOf(families, name, { engine: 'engine-1', ...labels });
  expect(of('seganet_engine_up')).toBe(1);
  expect(of('seganet_records_received_total')).toBe(1000);
  expect(of('seganet_records_delivered_total', { class: '1' })).toBe(3);
  expect(of('seganet_records_delivered_total', { class: '3' })).toBe(987);
  expect(of('seganet_batch_deadline_missed_total', { class: '3' })).toBe(5);
  expect(of('seganet_received_bytes_total')).toBe(300_000);
  expect(of('seganet_records_in_memory', { class: '3' })).toBe(7);
  expect(of('seganet_records_on_disk', { class: '3' })).toBe(0);
  expect(of('seganet_records_dropped_total', { class: '3', reason: 'expired' })).toBe(2);
  expect(of('seganet_records_dropped_total', { class: '0', reason: 'noRoute' })).toBe(5);
  expect(of('seganet_records_dropped_total', { class: '0', reason: 'expired' })).toBe(undefined);
  expect(of('seganet_worker_busy_ratio', { worker: '0' })).toBe(0.25);
  expect(of('seganet_log_state', { state: 'ready' })).toBe(1);
  expect(of('seganet_log_state', { state: 'full' })).toBe(0);
  expect(of('seganet_deferred_records')).toBe(5);
  for (const [end, count] of Object.entries({ delivered: 40, refused: 2, withheld: 1 }))
    expect([end, of('seganet_deliveries_total', { end })]).toEqual([end, count]);
  expect(of('seganet_commands_total', { end: 'timeout' })).toBe(1);
  expect(families.get('seganet_records_received_total')).toMatchObject({
    type: 'counter',
    help: /each counted once/
  });
});

test("has the known figures of a path's quality, and omits unknown ones", () => {
  const families = read(engine());
  const of = (name, one) => valueOf(families, `seganet_path_${name}`, { path: one });
  expect(of('backup', 'eth0')).toBe(0);
  expect(of('backup', 'wwan0')).toBe(1);
  expect(of('signal_dbm', 'eth0')).toBe(-52);
  expect(of('link_quality_ratio', 'eth0')).toBe(0.83);
  expect(of('probe_rtt_seconds', 'eth0')).toBe(0.0125);
  expect(of('probe_loss_ratio', 'eth0')).toBe(0.05);
  expect(of('probe_loss_ratio', 'wwan0')).toBe(undefined);
});

/** Members of an uplink that has left its first URL. */
const listed = {
  url: 2,
  urls: [{ state: 'failed' }, { state: 'active' }],
  failovers: 3,
  returns: 2,
  moved: { from: 'a:1', to: 'b:1', at: 1, code: 'ECONNREFUSED', reason: '', isReturn: false }
};

test('has where an uplink with several URLs is, and only of such one', () => {
  const families = read(engine({ stats: stats({ uplinks: [uplink(listed)] }) }));
  const of = (name, labels) => valueOf(families, `seganet_uplink_${name}`, labels);
  expect([of('url'), of('failovers_total'), of('returns_total')]).toEqual([2, 3, 2]);
  expect([of('url_failed', { url: '1' }), of('url_failed', { url: '2' })]).toEqual([1, 0]);
  expect(of('moved_info', { reason: 'ECONNREFUSED' })).toBe(1);
  expect(read(engine()).has('seganet_uplink_url')).toBe(false);
});

test('has what the second session of alarms does, and only with one', () => {
  const alarms = { state: 'connected', paths: ['eth0', 'wwan0'], sent: 7, leadFirst: 4, secondFirst: 3 };
  const families = read(engine({ stats: stats({ uplinks: [uplink({ alarms })] }) }));
  const of = (name, labels) => valueOf(families, `seganet_uplink_redundant_${name}`, labels);
  expect([of('connected'), of('copies_total')]).toEqual([1, 7]);
  expect([of('first_total', { session: '1' }), of('first_total', { session: '2' })]).toEqual([4, 3]);
  expect(of('path_info', { session: '2', path: 'wwan0' })).toBe(1);
  expect(read(engine()).has('seganet_uplink_redundant_connected')).toBe(false);
});

test('gives times in seconds, and a summary its quantiles and count', () => {
  const families = read(engine());
  const name = 'seganet_delivery_latency_seconds';
  expect(families.get(name)?.type).toBe('summary');
  expect(valueOf(families, name, { class: '3', quantile: '0.99' })).toBe(0.009);
  expect(valueOf(families, `${name}_count`, { class: '3' })).toBe(990);
  expect(valueOf(families, 'seganet_delivery_latency_max_seconds')).toBe(0.03);
  expect(valueOf(families, 'seganet_session_puback_rtt_seconds', { session: '1' })).toBe(0.02);
  expect(valueOf(families, 'seganet_session_oldest_record_age_seconds', { session: '2' })).toBe(1.5);
});

test("has each session's connection, each path's state, and each session's traffic on the path", () => {
  const families = read(engine());
  const of = (name, labels) => valueOf(families, name, { engine: 'engine-1', uplink: 'broker-1', ...labels });
  expect(of('seganet_uplink_connected')).toBe(1);
  expect(of('seganet_session_connected', { session: '2' })).toBe(1);
  expect(of('seganet_session_inflight_packets', { session: '2' })).toBe(4);
  expect(of('seganet_session_connects_total', { session: '2' })).toBe(2);
  expect(of('seganet_session_acked_bytes_total', { session: '2' })).toBe(123456);
  expect(of('seganet_session_transport', { session: '1', transport: 'mptcp' })).toBe(1);
  expect(of('seganet_session_transport', { session: '1', transport: 'fallback' })).toBe(0);
  expect(of('seganet_path_state', { path: 'eth0', state: 'up' })).toBe(1);
  expect(of('seganet_path_state', { path: 'wwan0', state: 'up' })).toBe(0);
  expect(of('seganet_path_state', { path: 'wwan0', state: 'down' })).toBe(1);
  expect(of('seganet_path_info', { path: 'wwan0', role: 'backup' })).toBe(1);
  expect(of('seganet_path_changed_timestamp_seconds', { path: 'eth0' })).toBe(
    Date.UTC(2026, 10, 22, 5) / 1000 + 0.5
  );
  const mine = { path: 'eth0', session: '1' };
  expect(of('seganet_path_subflows', mine)).toBe(2);
  expect(of('seganet_path_rtt_seconds', mine)).toBe(0.0125);
  expect(of('seganet_path_retransmits_total', mine)).toBe(3);
  expect(of('seganet_path_sent_bytes_total', mine)).toBe(5000);
  expect(of('seganet_path_acked_bytes_total', mine)).toBe(4000);
});

test('omits unknown values, and never writes NaN', () => {
  const bare = { state: 'connecting', rttMs: 0, oldestMs: -1, connects: undefined, transport: '' };
  const text = metricsText([
    engine({ stats: stats({ uplinks: [uplink({ sessions: [session(1, bare)] })] }) })
  ]);
  const families = parseMetrics(text);
  expect(text).not.toMatch(/NaN|Inf|undefined|null/);
  for (const name of [
    'session_puback_rtt_seconds',
    'session_oldest_record_age_seconds',
    'session_connects_total',
    'session_transport',
    'machine_power_watts',
    'uplink_energy_joules_per_byte'
  ]) {
    expect([name, families.has(`seganet_${name}`)]).toEqual([name, false]);
  }
  expect(valueOf(families, 'seganet_path_subflows', { path: 'wwan0' })).toBe(0);
  expect(valueOf(families, 'seganet_path_rtt_seconds', { path: 'wwan0' })).toBe(undefined);
  expect(valueOf(families, 'seganet_path_changed_timestamp_seconds', { path: 'wwan0' })).toBe(undefined);
});

test("has the machine's energy once, where it is known", () => {
  const energy = { source: 'rapl psys', watts: 12.5, joulesPerMegabyte: 80 };
  const uplinks = [
    uplink({ energy }),
    uplink({ broker: 'b2', energy: { ...energy, joulesPerMegabyte: null } })
  ];
  const families = read(
    engine({ stats: stats({ uplinks }) }),
    engine({ id: 'e2', stats: stats({ uplinks }) })
  );
  expect(families.get('seganet_machine_power_watts')?.samples).toHaveLength(1);
  expect(valueOf(families, 'seganet_machine_power_watts', { source: 'rapl psys' })).toBe(12.5);
  expect(
    valueOf(families, 'seganet_uplink_energy_joules_per_byte', { engine: 'e2', uplink: 'broker-1' })
  ).toBe(0.00008);
  expect(valueOf(families, 'seganet_uplink_energy_joules_per_byte', { engine: 'e2', uplink: 'b2' })).toBe(
    undefined
  );
});

test('is documented in docs/reference/metrics.md: the conditional metrics, which few machines have', () => {
  const energy = { source: 'rapl psys', watts: 12.5, joulesPerMegabyte: 80 };
  const filters = [{ nodeId: 'f1', filtered: 3 }];
  const batches = [{ nodeId: 'b1', waitMs: [0, 0, 80, 870, 0, 0, 0, 0, 0] }];
  const sources = [source('ocf', cloud), source('kafka', kafkaSource)];
  const compression = {
    compressedBatches: 4,
    compressedFrom: 4000,
    compressedTo: 700,
    keptUncompressed: 1,
    compressionFailures: 0,
    dictionaries: 2,
    compressing: ['busy', 'metered']
  };
  const alarms = { state: 'connected', paths: ['eth0', 'wwan0'], sent: 7, leadFirst: 4, secondFirst: 3 };
  const uplinks = [
    uplink({ energy, alarms, producers: [producer], parquet: written, ...compression, ...listed })
  ];
  const gateways = /** @type {any} */ ({ topics: { devices: 'd', commands: 'c' }, warn() {} });
  const closers = [];
  open(/** @type {any} */ ({ id: 'k1', on: (_event, close) => closers.push(close) }), new Gateways(gateways));
  const rows = [{ wakes: 1, failures: 0, sessions: 1, rescues: 0, wokenMs: 1500 }];
  const one = {
    name: 'acme',
    state: 'awake',
    memoryBytes: 5,
    wakes: 1,
    waitingBytes: 7,
    refused: 0,
    lastWake: { at: 1, by: 'records', how: 'start', readyMs: 900, connectedMs: 1500 }
  };
  const host = /** @type {any} */ ({
    members: [{ operator: { figures: () => ({ rows: [one], leftOut: 2 }) } }]
  });
  const tenants = { counts: { asleep: 2 }, keeperProblem: '', totals: {}, tenants: rows };
  const replicas = { state: 'waiting', reason: 'b is disconnected' };
  const pair = { role: 'active', owner: 'a', epoch: 2, isReplicated: true, reason: '' };
  const log = { ...stats().log, pair };
  const figures = stats({ filters, batches, uplinks, sources, desk, tenants, replicas, log });
  const engines = [engine({ stats: figures, host })];
  const additions = [
    {
      process: (out) => void [addSeries(out, series), addDirectory(out, directory), addOverlay(out, overlay)]
    },
    { process: (out) => void [addDemand(out, 'e1', demand), addShadows(out, 'e1', shadows)] },
    ...[forecastMetrics, kafka.metrics, ocf.metrics, parquet.metrics, withTenants.metrics]
  ];
  const families = parseMetrics(metricsText(engines, undefined, additions));
  for (const close of closers) close();
  expect(families.get('seganet_tenant_last_wake_seconds')?.samples[0]).toMatchObject({ value: 1.5 });
  const conditional = [...documentedMetrics()].filter(([, { isConditional }]) => isConditional);
  expect(conditional.length).toBeGreaterThan(10);
  for (const [name, { type, labels, unit }] of conditional) {
    const family = families.get(name);
    const used = new Set(family?.samples.flatMap((sample) => Object.keys(sample.labels)));
    expect([name, family?.type, [...used].sort()]).toEqual([name, type, labels]);
    expect(unit).toMatch(/./);
  }
  const known = documentedMetrics();
  expect([...families.keys()].filter((name) => !known.has(name))).toEqual([]);
});

test("has the process's figures and the gateway's clock, if they are given", () => {
  const view = {
    cpuSeconds: 1.5,
    residentBytes: 2e8,
    startedAt: 1e9,
    now: 1e9 + 60,
    isSynchronized: false,
    loopDelaySeconds: 0.002
  };
  const families = parseMetrics(metricsText([], view));
  expect([...families].map(([name, { type, samples }]) => [name, type, samples[0].value])).toEqual([
    ['seganet_build_info', 'gauge', 1],
    ['process_cpu_seconds_total', 'counter', 1.5],
    ['process_resident_memory_bytes', 'gauge', 2e8],
    ['process_start_time_seconds', 'gauge', 1e9],
    ['seganet_clock_seconds', 'gauge', 1e9 + 60],
    ['seganet_clock_synchronized', 'gauge', 0],
    ['seganet_event_loop_delay_seconds', 'gauge', 0.002]
  ]);
  expect(
    parseMetrics(metricsText([], { ...view, isSynchronized: null })).has('seganet_clock_synchronized')
  ).toBe(false);
});

test('shows one state of an uplink and of a session, such as stalled', () => {
  const stalled = uplink({ state: 'stalled', sessions: [session(1), session(2, { state: 'stalled' })] });
  const families = read(engine({ stats: stats({ uplinks: [stalled] }) }));
  expect(valueOf(families, 'seganet_uplink_state', { state: 'stalled' })).toBe(1);
  expect(valueOf(families, 'seganet_uplink_state', { state: 'connected' })).toBe(0);
  expect(valueOf(families, 'seganet_session_state', { session: '1', state: 'connected' })).toBe(1);
  expect(valueOf(families, 'seganet_session_state', { session: '2', state: 'stalled' })).toBe(1);
  expect(valueOf(families, 'seganet_session_state', { session: '2', state: 'connected' })).toBe(0);
  expect(valueOf(families, 'seganet_worker_silent_seconds', { worker: '0' })).toBe(0.12);
});

test('distinguishes many engines with many uplinks, each family once', () => {
  const many = Array.from({ length: 50 }, (_, i) =>
    engine({
      id: `e${i}`,
      stats: stats({ uplinks: [0, 1, 2, 3].map((k) => uplink({ broker: `b${k}` })) })
    })
  );
  const families = read(...many, engine({ id: 'down', stats: null }));
  expect(families.get('seganet_engine_up')?.samples).toHaveLength(51);
  expect(valueOf(families, 'seganet_engine_up', { engine: 'down' })).toBe(0);
  expect(families.get('seganet_session_connected')?.samples).toHaveLength(400);
  expect(valueOf(families, 'seganet_devices', { engine: 'down' })).toBe(undefined);
});

test('has the version alone without an engine', () => {
  expect([...read().keys()]).toEqual(['seganet_build_info']);
});

test.each([
  ['quotes "a"', 'quotes "a"'],
  ['back\\slash \\n', 'back\\slash \\n'],
  ['two\nlines', 'two\nlines'],
  ['a tab\tand\rmore\0', 'a tab�and�more�'],
  ['half \ud800', 'half �'],
  ['},x="1"} 7', '},x="1"} 7'],
  ['ä'.repeat(128), 'ä'.repeat(128)],
  ['ä'.repeat(129), `${'ä'.repeat(127)}…`],
  ['😀'.repeat(128), '😀'.repeat(128)],
  ['😀'.repeat(10000), `${'😀'.repeat(127)}…`],
  ['', '']
])('preserves a name such as %j, except for its length and non-text characters', (name, seen) => {
  const families = read(engine({ name }));
  expect(families.get('seganet_engine_info')?.samples[0].labels.name).toBe(seen);
});

test('gives every counter its own name and a help text; a new one is not missing', () => {
  const names = Object.values(COUNTERS).map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  const counters = { ...Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 1])), newOne: 2 };
  const families = read(engine({ stats: stats({ counters }) }));
  for (const name of names) expect(valueOf(families, `seganet_${name}_total`)).toBe(1);
  expect(valueOf(families, 'seganet_new_one_total')).toBe(2);
});

describe('the writer', () => {
  test.each(['', '1a', 'a-b', 'ä', 'a b'])('rejects the metric name %j', (name) => {
    expect(() => new Family(name, 'gauge', '')).toThrow(TypeError);
    expect(() => new Family('a', 'gauge', '').add({ [name]: 1 }, 1)).toThrow(TypeError);
  });

  test('writes each combination of labels once, the last of them, and nothing for an empty family', () => {
    const out = new Exposition();
    out.gauge('a', 'A\\B\nC').add({ x: 1 }, 1);
    out.gauge('a', '').add({ x: '1' }, 2);
    out.gauge('b', 'B').add({}, NaN);
    out.gauge('b', 'B').add({}, undefined);
    expect(String(out)).toBe('# HELP a A\\\\B\\nC\n# TYPE a gauge\na{x="1"} 2\n');
  });

  test('writes numbers of any size, and booleans as 0 and 1', () => {
    const out = new Exposition();
    for (const [i, value] of [0, -1.5, 1e21, 1e-9, 2 ** 53, true, false].entries())
      out.gauge('a', '').add({ i }, value);
    const values = parseMetrics(String(out))
      .get('a')
      ?.samples.map(({ value }) => value);
    expect(values).toEqual([0, -1.5, 1e21, 1e-9, 2 ** 53, 1, 0]);
  });
});

describe('the reader of these tests refuses', () => {
  const head = '# HELP a A\n# TYPE a gauge\n';
  test.each([
    ['a line without an end', `${head}a 1`],
    ['a sample without a family', 'a 1\n'],
    ['a family without samples', head],
    ['a family twice', `${head}a 1\n${head}a 1\n`],
    ['a sample twice', `${head}a{x="1"} 1\na{x="1"} 2\n`],
    ['no number', `${head}a NaN\n`],
    ['a quote in a label', `${head}a{x="1"2"} 1\n`],
    ['an escape that is none', `${head}a{x="\\t"} 1\n`],
    ['a comma at the end', `${head}a{x="1",} 1\n`],
    ['an empty line', `${head}a 1\n\n`],
    ['a counter without _total', '# HELP a A\n# TYPE a counter\na 1\n'],
    ['a quantile of a gauge', `${head}a{quantile="1"} 1\n`]
  ])('%s', (_, text) => {
    expect(() => parseMetrics(text)).toThrow();
  });
});
