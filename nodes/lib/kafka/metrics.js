'use strict';
// The metrics of Kafka: what its uplinks have beside those of every uplink, and its sources.

/** @typedef {import('../metrics/text').Exposition} Exposition @typedef {import('../metrics/text').Labels} Labels */
/** @typedef {ReturnType<import('./uplink/kafka-group').KafkaGroup['figures']>} GroupFigures */
/** @typedef {ReturnType<import('./source/kafka-source').KafkaSource['figures']>} KafkaSourceFigures */

const STATES = ['connecting', 'connected', 'disconnected', 'refused', 'stopped'];
/** Counters of a group: field, name, help. */
const COUNTERS = /** @type {const} */ ([
  [
    'requests',
    'requests',
    'Produce requests, those that were sent again included; one has records of several partitions.'
  ],
  [
    'refusals',
    'failed_requests',
    'Parts of requests, one for each partition, that failed or were refused; most are sent again.'
  ],
  ['sent', 'sent_records', 'Records in these requests, each attempt counted.'],
  ['retried', 'retried_records', 'Of these, records that an earlier request contained.'],
  ['acknowledged', 'acknowledged_records', 'Records that all in-sync replicas have.'],
  ['bytesAcked', 'acknowledged_bytes', 'Bytes of these records, before compression.'],
  ['deadLetters', 'dead_letter_records', 'Records that Kafka will never accept.']
]);
const GAUGES = /** @type {const} */ ([
  ['inflight', 'inflight_records', 'Records that were taken and are not acknowledged.'],
  ['topics', 'topics', 'Topics in use.'],
  ['partitions', 'partitions', 'Partitions of these topics.'],
  ['partitionsInFlight', 'partitions_in_flight', 'Of these, partitions with a request that is not answered.'],
  ['refusedTopics', 'refused_topics', 'Topics that take no records: they do not exist, or are not allowed.']
]);

/** @param {Exposition} out @param {Labels} uplink @param {GroupFigures} figures of a producer */
function addProducer(out, uplink, figures) {
  const labels = { ...uplink, session: figures.group };
  out.counters('seganet_kafka', COUNTERS, labels, figures);
  out.gauges('seganet_kafka', GAUGES, labels, figures);
  addTrouble(out, 'seganet_kafka_trouble', labels, figures.code);
}

/**
 * @param {Exposition} out
 * @param {Labels} labels of the engine and the node
 * @param {KafkaSourceFigures} figures
 */
function addKafkaSource(out, labels, figures) {
  const { counters, consumer } = figures;
  const state = out.gauge('seganet_kafka_source_state', 'State of the source: 1 for the current state.');
  for (const each of STATES) state.add({ ...labels, state: each }, figures.state === each);
  addTrouble(out, 'seganet_kafka_source_trouble', labels, figures.code);
  const records = out.counter('seganet_kafka_source_records_total', 'Records that were read, by outcome.');
  for (const [end, count] of Object.entries(counters)) records.add({ ...labels, end: snake(end) }, count);
  out
    .gauge('seganet_kafka_source_unsafe_records', 'Records that were read and are not safe.')
    .add(labels, consumer?.unsafe);
  out
    .counter('seganet_kafka_source_committed_records_total', 'Records whose offsets were committed.')
    .add(labels, consumer?.committed);
  out
    .counter('seganet_kafka_source_rebalances_total', 'Times that the group assigned partitions.')
    .add(labels, consumer?.rebalances);
  out
    .gauge('seganet_kafka_source_partitions', 'Partitions that are assigned to the source.')
    .add(labels, consumer?.partitions);
  const lag = out.gauge(
    'seganet_kafka_source_lag_records',
    'Offsets between the last commit and the end of the assigned partitions; up to 10 s old.'
  );
  for (const [topic, offsets] of Object.entries(consumer?.lag ?? {})) lag.add({ ...labels, topic }, offsets);
}

/**
 * @param {Exposition} out
 * @param {string} cluster id of its node
 * @param {ReturnType<InstanceType<typeof import('./gateways/gateways').Gateways>['figures']>} figures
 */
function addGateways(out, cluster, figures) {
  const labels = { cluster };
  const state = out.gauge(
    'seganet_cluster_state',
    'State of the topics that gateways share: 1 for the current one.'
  );
  for (const each of STATES) state.add({ ...labels, state: each }, figures.state === each);
  out
    .gauge('seganet_cluster_ready', '1 if the topics were read from their start.')
    .add(labels, figures.isReady);
  out
    .gauge('seganet_cluster_unwritten_records', 'Records that Kafka does not have yet.')
    .add(labels, figures.unwritten);
  out.gauge('seganet_cluster_devices', 'Devices in the table of all gateways.').add(labels, figures.devices);
  out
    .counter(
      'seganet_cluster_taken_over_total',
      'Connections that ended because the device connected elsewhere.'
    )
    .add(labels, figures.takenOver);
  out
    .gauge('seganet_cluster_commands_waiting', 'Commands that wait in the cluster.')
    .add(labels, figures.commands);
  out
    .gauge('seganet_cluster_commands_waiting_bytes', 'Bytes of these commands.')
    .add(labels, figures.commandBytes);
  const outcomes = out.counter(
    'seganet_cluster_outcomes_total',
    'Commands that this gateway has ended, by outcome.'
  );
  for (const [status, count] of Object.entries(figures.outcomes)) outcomes.add({ ...labels, status }, count);
  out
    .counter('seganet_cluster_late_outcomes_total', 'Outcomes that came after that of another gateway.')
    .add(labels, figures.late);
  out
    .counter(
      'seganet_cluster_invalid_records_total',
      'Records of the topics that are no command and no device.'
    )
    .add(labels, figures.invalid);
}

/**
 * Adds the code of the reason why something does not work.
 * @param {Exposition} out
 * @param {string} name
 * @param {Labels} labels
 * @param {string} code '' = it works
 */
function addTrouble(out, name, labels, code) {
  if (code === '') return;
  out
    .gauge(name, '1 while there is a reason why no records pass; its label is the code of the reason.')
    .add({ ...labels, code }, 1);
}

/** @param {string} name */
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

module.exports = { addGateways, addKafkaSource, addProducer };
