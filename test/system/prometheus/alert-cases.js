'use strict';
// For each alert, series that make it fire and series that do not, in promtool's notation, one value a minute.

const engine = 'instance="gw:1880",job="seganet",engine="e1"';
const session = (/** @type {string} */ state, values = '1x30') =>
  `seganet_session_state{${engine},uplink="b1",session="2",state="${state}"} ${values}`;
const stalls = (/** @type {string} */ values) => `seganet_stalls_total{${engine},uplink="b1"} ${values}`;
const backlog = (/** @type {string} */ values) => `seganet_records_backlog{${engine},class="3"} ${values}`;
const dropped = (/** @type {string} */ reason, /** @type {string} */ values) =>
  `seganet_records_dropped_total{${engine},class="3",reason="${reason}"} ${values}`;
const logState = (/** @type {string} */ state, values = '1x30') =>
  `seganet_log_state{${engine},state="${state}"} ${values}`;
const replicas = (/** @type {string} */ state, values = '1x30') =>
  `seganet_replicas_state{${engine},state="${state}"} ${values}`;
const pair = (/** @type {string} */ role, /** @type {string} */ replicated) => [
  `seganet_pair_role{${engine},role="active"} ${role}`,
  `seganet_pair_replicated{${engine}} ${replicated}`
];
const logBytes = (/** @type {number} */ bytes) => [
  `seganet_log_bytes{${engine}} ${bytes}x30`,
  `seganet_log_limit_bytes{${engine}} 1000x30`
];
const worker = (/** @type {string} */ metric, /** @type {string} */ values) =>
  `seganet_worker_${metric}{${engine},worker="0"} ${values}`;
const clock = (/** @type {string} */ values) =>
  `seganet_clock_seconds{instance="gw:1880",job="seganet"} ${values}`;
const up = (/** @type {string} */ job, /** @type {string} */ values) =>
  `up{instance="gw:1880",job="${job}"} ${values}`;

const ocf = (/** @type {string} */ metric, /** @type {string} */ values) =>
  `seganet_ocf_${metric}{${engine},node="cloud"} ${values}`;
const attempts = (/** @type {string} */ values) =>
  `seganet_ocf_attempts_refused_total{${engine},node="cloud",reason="wrong"} ${values}`;
const storeFailed = (/** @type {string} */ call, /** @type {string} */ values) =>
  `seganet_ocf_store_failed_total{${engine},node="cloud",call="${call}"} ${values}`;
const regionLink = (/** @type {string} */ values) =>
  `seganet_ocf_region_link_up{${engine},node="cloud",region="coaps+tcp://b.example:5685"} ${values}`;
const refusedTopics = (/** @type {string} */ values) =>
  `seganet_kafka_refused_topics{${engine},uplink="k1",session="2"} ${values}`;
const kafkaSource = (/** @type {string} */ state, values = '1x30') =>
  `seganet_kafka_source_state{${engine},node="in",state="${state}"} ${values}`;
const lag = (/** @type {string} */ values) =>
  `seganet_kafka_source_lag_records{${engine},node="in",topic="t"} ${values}`;

const synchronized = (/** @type {string} */ values) =>
  `seganet_clock_synchronized{instance="gw:1880",job="seganet"} ${values}`;

/** @typedef {{ fires: string[][], quiet: string[][] }} Cases each entry is one gateway's series, looked at after 20 min */

/** @type {Record<string, Cases>} by alert */
const CASES = {
  SeganetGatewayUnreachable: {
    fires: [[up('seganet', '1 0x30')]],
    quiet: [[up('seganet', '1x30')], [up('seganet', '1x18 0x2')], [up('other', '0x30')]]
  },
  SeganetEngineDown: {
    fires: [[`seganet_engine_up{${engine}} 0x30`]],
    quiet: [[`seganet_engine_up{${engine}} 1x30`], [`seganet_engine_up{${engine}} 1x19 0`]]
  },
  SeganetWorkerStuck: {
    fires: [[worker('silent_seconds', '0x18 11x5')]],
    quiet: [[worker('silent_seconds', '0.2x30')]]
  },
  SeganetWorkerOverloaded: {
    fires: [[worker('busy_ratio', '0.95x30')]],
    quiet: [[worker('busy_ratio', '0.6x30')], [worker('busy_ratio', '0.5x13 0.99x7')]]
  },
  SeganetUplinkDown: {
    fires: ['connecting', 'reconnecting', 'disconnected', 'refused', 'stopped'].map((state) => [
      session(state)
    ]),
    quiet: [
      [session('connected'), session('disconnected', '0x30')],
      [session('stalled')],
      [session('disconnected', '0x18 1x2')]
    ]
  },
  SeganetUplinkStalled: {
    fires: [[session('stalled'), session('connected', '0x30')]],
    quiet: [
      [session('stalled', '0x30'), session('connected')],
      [session('disconnected')],
      [session('stalled', '0x19 1')]
    ]
  },
  SeganetRecordsStoodStill: {
    fires: [[stalls('0x16 1x30')]],
    quiet: [[stalls('0x30')], [stalls('3x30')]]
  },
  SeganetBacklogGrowing: {
    fires: [[backlog('0+500x30')]],
    // It drains, is small, or has just begun to grow.
    quiet: [[backlog('50000-500x30')], [backlog('0+10x30')], [backlog('0x15 0+5000x6')], [backlog('5000x30')]]
  },
  SeganetRecordsDropped: {
    fires: [[dropped('expired', '0x16 5x10')], [dropped('logFull', '0+1x30')]],
    quiet: [[dropped('expired', '5x30')], [dropped('deadLetter', '0+1x30')], [dropped('expired', '0x5 5x25')]]
  },
  SeganetRecordsRefused: {
    fires: [[dropped('deadLetter', '0x16 5x10')], [dropped('refused', '0+1x30')]],
    quiet: [[dropped('refused', '5x30')], [dropped('expired', '0+1x30')]]
  },
  SeganetDeadLetters: {
    fires: [[`seganet_log_dead_letters{${engine}} 3x30`]],
    quiet: [[`seganet_log_dead_letters{${engine}} 0x30`]]
  },
  SeganetLogNearlyFull: { fires: [logBytes(810)], quiet: [logBytes(700)] },
  SeganetLogNotWritable: {
    fires: ['full', 'failing', 'refused'].map((state) => [logState(state)]),
    quiet: [[logState('ready'), logState('full', '0x30')], [logState('opening')]]
  },
  SeganetReplicasMissing: {
    fires: ['waiting', 'degraded'].map((state) => [replicas(state)]),
    quiet: [[replicas('replicated'), replicas('waiting', '0x30')], [replicas('waiting', '0x19 1x1')]]
  },
  SeganetPairAlone: {
    fires: [pair('1x30', '1x15 0x10')],
    quiet: [pair('1x30', '1x30'), pair('0x30', '0x30'), pair('1x30', '1x19 0')]
  },
  SeganetClockNotSynchronized: {
    fires: [[synchronized('0x30')]],
    quiet: [[synchronized('1x30')], [synchronized('1x15 0x4')], [clock('0+60x30')]]
  },
  SeganetClockWrong: {
    fires: [[clock('100+60x30')], [clock('-30+60x30')]],
    quiet: [[clock('0+60x30')], [clock('3+60x30')]]
  },
  SeganetOcfCloudDown: {
    fires: [[ocf('up', '0x30')]],
    quiet: [[ocf('up', '1x30')], [ocf('up', '1x18 0x2')]]
  },
  SeganetOcfHttpDown: {
    fires: [[ocf('http_up', '0x30')]],
    quiet: [[ocf('http_up', '1x30')], [ocf('up', '0x30')]]
  },
  SeganetOcfStoreFailing: {
    fires: [[storeFailed('write', '0x16 3x10')], [storeFailed('read', '0+1x30')]],
    quiet: [[storeFailed('write', '3x30'), storeFailed('read', '0x30')]]
  },
  SeganetOcfCloudNearlyFull: {
    fires: [[ocf('devices', '910x30'), ocf('devices_limit', '1000x30')]],
    quiet: [[ocf('devices', '890x30'), ocf('devices_limit', '1000x30')]]
  },
  SeganetOcfAttemptsRefused: {
    fires: [[attempts('0+20x30')]],
    quiet: [[attempts('0+5x30')], [attempts('5000x30')]]
  },
  SeganetOcfTokenReused: {
    fires: [[ocf('tokens_reused_total', '0x12 1x20')]],
    quiet: [[ocf('tokens_reused_total', '1x30')]]
  },
  SeganetOcfRegionUnreachable: {
    fires: [[regionLink('0x30')]],
    quiet: [[regionLink('1x30')], [regionLink('1x16 0x4')]]
  },
  SeganetKafkaTopicRefused: {
    fires: [[refusedTopics('1x30')]],
    quiet: [[refusedTopics('0x30')], [refusedTopics('0x19 1')]]
  },
  SeganetKafkaSourceDown: {
    fires: ['connecting', 'disconnected', 'refused', 'stopped'].map((state) => [kafkaSource(state)]),
    quiet: [
      [kafkaSource('connected'), kafkaSource('disconnected', '0x30')],
      [kafkaSource('refused', '0x19 1')]
    ]
  },
  SeganetKafkaLagGrowing: {
    fires: [[lag('0+5000x30')]],
    // It shrinks, is small, or has just begun to grow.
    quiet: [[lag('500000-5000x30')], [lag('0+10x30')], [lag('0x15 0+50000x6')], [lag('50000x30')]]
  }
};

/**
 * @param {string} rules absolute path
 * @param {string[]} [alerts]
 * @returns {object} the input of "promtool test rules"; JSON is YAML
 */
function ruleTests(rules, alerts = Object.keys(CASES)) {
  const cases = alerts.map((alert) => /** @type {const} */ ([alert, CASES[alert]]));
  const tests = cases.flatMap(([alert, { fires, quiet }]) => [
    ...fires.map((series) => ruleTest(alert, series, true)),
    ...quiet.map((series) => ruleTest(alert, series, false))
  ]);
  return { rule_files: [rules], evaluation_interval: '1m', tests };
}

/** @param {string} alert @param {string[]} series @param {boolean} fires */
function ruleTest(alert, series, fires) {
  const input = series.map((each) => {
    const at = each.lastIndexOf('} ') + 1;
    return { series: each.slice(0, at), values: each.slice(at + 1) };
  });
  // Whether it fires, not the text of its annotations.
  const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`;
  return {
    name: `${alert} ${fires ? 'fires' : 'does not fire'}: ${series.join(' ')}`,
    interval: '1m',
    input_series: input,
    promql_expr_test: [{ expr, eval_time: '20m', exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }] }]
  };
}

module.exports = { CASES, ruleTests };
