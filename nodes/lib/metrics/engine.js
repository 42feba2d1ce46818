'use strict';
// The metrics of one engine without its uplinks.

const { addCounters } = require('./counters');

/** @typedef {import('./text').Exposition} Exposition @typedef {import('./text').Labels} Labels */
/** @typedef {ReturnType<import('../engine/host').EngineHost['snapshot']>} Snapshot */

const QUANTILES = /** @type {const} */ ([
  [0.5, 'p50'],
  [0.9, 'p90'],
  [0.99, 'p99']
]);
const HELD = /** @type {const} */ ([
  ['heldRecords', 'in_memory', 'Records in memory that the cloud has not acknowledged.'],
  ['unsavedRecords', 'unsaved', 'Of these, the records that are batched and not on disk.'],
  [
    'storedRecords',
    'on_disk',
    'Records on disk that the cloud has not acknowledged, whether or not they are also in memory.'
  ],
  ['backlogRecords', 'backlog', 'Of these, the records that are not in memory.']
]);
const PAIR_ROLES = ['opening', 'standby', 'active'];
const REPLICA_STATES = ['replicated', 'waiting', 'degraded'];
const LOG_STATES = ['opening', 'standby', 'ready', 'full', 'failing', 'refused', 'stopped'];
/** `timedOut` is not one of them: such a record is also delivered or refused. */
const DELIVERY_ENDS = /** @type {const} */ (['delivered', 'refused', 'withheld']);
const COMMAND_ENDS = /** @type {const} */ (['taken', 'refused', 'expired', 'timeout', 'full', 'queued']);

/** @param {Exposition} out @param {Labels} labels of the engine @param {Snapshot} stats */
function addEngine(out, labels, stats) {
  out.gauge('seganet_devices', 'Devices with an open connection.').add(labels, stats.devices);
  out.gauge('seganet_memory_held_bytes', 'Memory in use for records.').add(labels, stats.heldBytes);
  out.gauge('seganet_memory_limit_bytes', 'Memory budget for records.').add(labels, stats.budgetBytes);
  out
    .gauge('seganet_slowed_from_class', 'Most urgent class whose devices are not read; 0 = none.')
    .add(labels, stats.slowedFrom);
  addCounters(out, labels, stats.counters);
  addRecords(out, labels, stats);
  addLatency(out, labels, stats.latency);
  for (const [worker, { busy, connections, silentMs }] of (stats.placement?.workers ?? []).entries()) {
    const own = { ...labels, worker };
    out
      .gauge(
        'seganet_worker_busy_ratio',
        'CPU time of a worker thread divided by elapsed time, over the last second.'
      )
      .add(own, busy);
    out
      .gauge(
        'seganet_worker_silent_seconds',
        'Time since a worker thread made progress, which it does several times a second.'
      )
      .add(own, silentMs >= 0 ? silentMs / 1000 : NaN);
    out.gauge('seganet_worker_connections', 'Device connections on a worker thread.').add(own, connections);
  }
  const waits = out.gauge(
    'seganet_batch_wait_seconds',
    'How long batches of a node that saves bytes wait at most at present.'
  );
  for (const { nodeId, waitMs } of stats.batches ?? []) {
    for (const [of, ms] of byClass(waitMs)) waits.add({ ...labels, node: nodeId, class: of }, seconds(ms));
  }
  const left = out.counter('seganet_filter_records_total', 'Records that a filter node left out.');
  for (const { nodeId, filtered } of stats.filters ?? []) left.add({ ...labels, node: nodeId }, filtered);
  out
    .gauge('seganet_windows_open', 'Open windows of filter nodes. Their records exist only there.')
    .add(labels, stats.openWindows ?? 0);
  out
    .gauge('seganet_values', 'Last values of devices and topics in memory.')
    .add(labels, stats.keptValues ?? 0);
  out.gauge('seganet_values_bytes', 'Memory in use for last values.').add(labels, stats.valueBytes ?? 0);
  addDeliveries(out, labels, stats);
  const { pair } = /** @type {import('../engine/modules').StoreState} */ (stats.log ?? {});
  if (pair) {
    const role = out.gauge('seganet_pair_role', 'Part of this gateway in its pair: 1 for the current one.');
    for (const each of PAIR_ROLES) role.add({ ...labels, role: each }, pair.role === each);
    out
      .gauge('seganet_pair_replicated', 'Whether commits of the shared log are on two machines.')
      .add(labels, pair.isReplicated);
  }
  if (stats.replicas) {
    const state = out.gauge('seganet_replicas_state', 'Who acknowledges records: 1 for the current state.');
    for (const each of REPLICA_STATES) state.add({ ...labels, state: each }, stats.replicas.state === each);
  }
  addLog(out, labels, stats.log);
  addCommands(out, labels, stats.commands);
}

/** @param {Exposition} out @param {Labels} labels @param {Snapshot} stats */
function addRecords(out, labels, stats) {
  for (const [field, name, help] of HELD) {
    const family = out.gauge(`seganet_records_${name}`, help);
    for (const [of, count] of byClass(stats[field])) family.add({ ...labels, class: of }, count);
  }
  const delivered = out.counter('seganet_records_delivered_total', 'Records acknowledged by the cloud.');
  for (const [of, count] of byClass(stats.deliveredRecords)) delivered.add({ ...labels, class: of }, count);
  const late = out.counter(
    'seganet_batch_deadline_missed_total',
    'Records of batches that were acknowledged after their patience although the uplink was connected.'
  );
  for (const [of, count] of byClass(stats.lateRecords ?? [])) late.add({ ...labels, class: of }, count);
  const drops = out.counter('seganet_records_dropped_total', 'Dropped records, by class and reason.');
  for (const [reason, counts] of Object.entries(stats.drops)) {
    for (const [of, count] of byClass(counts)) drops.add({ ...labels, class: of, reason }, count);
  }
}

/**
 * Adds the latency summary, without a sum, which the engine does not count.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {Snapshot['latency']} rows
 */
function addLatency(out, labels, rows) {
  const help = 'Time from reading a record to its acknowledgement by the cloud, since the start.';
  const summary = out.family('seganet_delivery_latency_seconds', 'summary', help);
  const longest = out.gauge('seganet_delivery_latency_max_seconds', 'The longest of these times.');
  for (const row of rows) {
    const own = { ...labels, class: row.class };
    for (const [quantile, field] of QUANTILES) summary.add({ ...own, quantile }, seconds(row[field]));
    summary.add(own, row.count, '_count');
    longest.add(own, seconds(row.max));
  }
}

/**
 * Adds the records whose devices wait for a flow.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {{ deferredRecords: number, deliveries: any }} stats
 */
function addDeliveries(out, labels, { deferredRecords, deliveries }) {
  out
    .gauge('seganet_deferred_records', 'Records whose devices wait until a flow has delivered them.')
    .add(labels, deferredRecords);
  const ends = out.counter('seganet_deliveries_total', 'Records that waited for a flow, by outcome.');
  for (const end of DELIVERY_ENDS) ends.add({ ...labels, end }, deliveries?.[end]);
}

/** @param {Exposition} out @param {Labels} labels @param {any} log null = no log */
function addLog(out, labels, log) {
  if (!log) return;
  const state = out.gauge('seganet_log_state', 'State of the log: 1 for the current state.');
  for (const each of LOG_STATES) state.add({ ...labels, state: each }, log.state === each);
  out.gauge('seganet_log_bytes', 'Bytes that wait in the log.').add(labels, log.bytes);
  out.gauge('seganet_log_limit_bytes', 'Size limit of the log.').add(labels, log.limitBytes);
  out.gauge('seganet_log_file_bytes', 'Size of the log files.').add(labels, log.fileBytes);
  out
    .gauge('seganet_log_dead_letters', 'Dead letters: records that the cloud will never accept.')
    .add(labels, log.dead);
  out.gauge('seganet_log_quarantined_chunks', 'Damaged chunks in quarantine.').add(labels, log.quarantined);
}

/** @param {Exposition} out @param {Labels} labels @param {any} commands */
function addCommands(out, labels, commands) {
  const ends = out.counter('seganet_commands_total', 'Commands to devices, by outcome.');
  for (const end of COMMAND_ENDS) ends.add({ ...labels, end }, commands?.[end]);
  out
    .gauge('seganet_commands_waiting', 'Commands that wait for their devices.')
    .add(labels, commands?.waiting);
}

/**
 * Returns [class, count] pairs. Index 0, no class, is included only if its count is above 0.
 * @param {number[]} counts
 * @returns {[number, number][]}
 */
function byClass(counts) {
  return counts
    .map((count, recordClass) => /** @type {[number, number]} */ ([recordClass, count]))
    .filter(([recordClass, count]) => recordClass > 0 || count > 0);
}

/** @param {number} ms */
const seconds = (ms) => ms / 1000;

exports.addEngine = addEngine;
