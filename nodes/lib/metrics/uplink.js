'use strict';
// Metrics of an engine's uplinks, their sessions, and the paths of these. Unknown values (-1, or 0 for a round trip)
// are left out.

/** @typedef {import('./text').Exposition} Exposition */
/** @typedef {import('./text').Labels} Labels */
/** @typedef {import('../engine/modules').UplinkState} UplinkState */
/** @typedef {import('../engine/modules').SessionState} SessionState */
/** @typedef {UplinkState & {broker: string, name: string}} Uplink */
/** @typedef {import('../uplink/paths/path-view').PathView} PathView */

const PATH_STATES = ['up', 'down', 'probing', 'unknown'];
const STATES = ['connected', 'connecting', 'stalled', 'reconnecting', 'disconnected', 'refused', 'stopped'];
/** Why envelopes are compressed. */
const REASONS = /** @type {const} */ (['chosen', 'busy', 'metered', 'saving']);
const TRANSPORTS = ['mptcp', 'fallback', 'tcp', 'unknown'];
/** Counters of an uplink and of a session: field, name, help. */
const OF_UPLINK = /** @type {const} */ ([
  ['redelivered', 'redelivered_packets', 'PUBLISH packets sent again.'],
  [
    'unmatched',
    'unmatched_packets',
    'PUBLISH packets that the broker accepted although no client subscribes to their topic.'
  ],
  ['refusals', 'refused_packets', 'PUBACKs with an error from the broker.'],
  ['failed', 'failed_packets', 'PUBLISH packets given up.']
]);
const OF_SESSION = /** @type {const} */ ([
  ['connects', 'connects', 'Connections that the broker accepted.'],
  ['published', 'published_packets', 'PUBLISH packets sent.'],
  ['acknowledged', 'acknowledged_packets', 'PUBLISH packets acknowledged.'],
  ['bytesAcked', 'acked_bytes', 'Bytes that TCP confirmed, including TLS and MQTT overhead.']
]);

/** @param {Exposition} out @param {Labels} engine @param {Uplink} uplink */
function addUplink(out, engine, uplink) {
  const labels = { ...engine, uplink: uplink.broker };
  out.gauge('seganet_uplink_info', 'Names of the uplink brokers.').add({ ...labels, name: uplink.name }, 1);
  out
    .gauge('seganet_uplink_connected', '1 if all sessions of the uplink accept records.')
    .add(labels, uplink.state === 'connected');
  const state = out.gauge('seganet_uplink_state', 'State of the uplink as a whole: 1 for the current state.');
  for (const each of STATES) state.add({ ...labels, state: each }, uplink.state === each);
  out.counters('seganet_uplink', OF_UPLINK, labels, uplink);
  out
    .counter(
      'seganet_stalls_total',
      'Times that records stood still although the uplink was up and had room.'
    )
    .add(labels, uplink.stalls ?? 0);
  out
    .counter(
      'seganet_uplink_saved_bytes_total',
      'Estimate of the IP bytes that batches and compression saved.'
    )
    .add(labels, uplink.savedBytes ?? 0);
  if (uplink.urls) addUrls(out, labels, uplink);
  if (uplink.alarms) addAlarms(out, labels, uplink.alarms);
  addCompression(out, labels, uplink);
  for (const session of uplink.sessions ?? []) addSession(out, labels, session);
  const first = uplink.sessions?.[0]?.paths ?? [];
  for (const path of first) addPath(out, { ...labels, path: path.name }, path);
  const perByte = (uplink.energy?.joulesPerMegabyte ?? NaN) / 1e6;
  out
    .gauge(
      'seganet_uplink_energy_joules_per_byte',
      'Energy of the whole machine in the last minute per byte that the broker confirmed: an estimate.'
    )
    .add(labels, perByte);
}

/**
 * Adds where an uplink with several URLs is.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {Uplink} uplink
 */
function addUrls(out, labels, { url = 1, urls = [], failovers, returns, moved }) {
  out
    .gauge('seganet_uplink_url', 'Number of the URL where the uplink is; 1 = the first one of its list.')
    .add(labels, url);
  const failed = out.gauge('seganet_uplink_url_failed', '1 if the URL failed and did not work since then.');
  for (const [i, { state }] of urls.entries())
    failed.add({ ...labels, url: String(i + 1) }, state === 'failed');
  out
    .counter('seganet_uplink_failovers_total', 'Changes of the URL because of a failure.')
    .add(labels, failovers);
  out
    .counter('seganet_uplink_returns_total', 'Returns to a URL of higher priority that works again.')
    .add(labels, returns);
  if (!moved?.code) return;
  out
    .gauge('seganet_uplink_moved_info', 'Why the uplink left the previous URL.')
    .add({ ...labels, reason: moved.code }, 1);
}

/**
 * Adds what the second session of alarms does.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {NonNullable<Uplink['alarms']>} alarms
 */
function addAlarms(out, labels, { state, paths, sent, leadFirst, secondFirst }) {
  out
    .gauge('seganet_uplink_redundant_connected', '1 if alarms are sent over two paths now.')
    .add(labels, state === 'connected');
  const info = out.gauge('seganet_uplink_redundant_path_info', 'Paths of the two sessions of alarms.');
  for (const [i, path] of paths.entries()) if (path) info.add({ ...labels, session: i + 1, path }, 1);
  out
    .counter(
      'seganet_uplink_redundant_copies_total',
      'Alarms that were sent a second time, over another path.'
    )
    .add(labels, sent);
  const first = out.counter(
    'seganet_uplink_redundant_first_total',
    'Alarms sent over two paths, by the session whose acknowledgement came first.'
  );
  first.add({ ...labels, session: 1 }, leadFirst);
  first.add({ ...labels, session: 2 }, secondFirst);
}

/**
 * Adds the metrics of the compression: why it works, if an uplink node compresses; its counters, if the uplink has
 * compressed something, or kept something from it.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {Uplink} uplink
 */
function addCompression(out, labels, uplink) {
  const { compressedBatches = 0, keptUncompressed = 0, compressionFailures = 0, compressing } = uplink;
  if (compressing) {
    const why = out.gauge(
      'seganet_uplink_compressing',
      '1 if envelopes are compressed now for this reason: chosen, busy, metered or saving.'
    );
    for (const reason of REASONS) why.add({ ...labels, reason }, compressing.includes(reason));
  }
  if (compressedBatches + keptUncompressed + compressionFailures === 0) return;
  out
    .counter('seganet_uplink_compressed_batches_total', 'Envelopes that were compressed.')
    .add(labels, compressedBatches);
  out
    .counter('seganet_uplink_compressed_from_bytes_total', 'Bytes of these envelopes before compression.')
    .add(labels, uplink.compressedFrom);
  out
    .counter('seganet_uplink_compressed_to_bytes_total', 'Bytes of these envelopes after compression.')
    .add(labels, uplink.compressedTo);
  out
    .counter(
      'seganet_uplink_kept_uncompressed_batches_total',
      'Envelopes that were not compressed because of the topic of a record.'
    )
    .add(labels, keptUncompressed);
  out
    .counter('seganet_uplink_compression_failures_total', 'Envelopes that the library failed to compress.')
    .add(labels, compressionFailures);
  out
    .counter('seganet_uplink_dictionaries_total', 'Dictionaries that the broker took.')
    .add(labels, uplink.dictionaries);
}

/** @param {Exposition} out @param {Labels} uplink @param {SessionState} session */
function addSession(out, uplink, session) {
  const labels = { ...uplink, session: session.group };
  out
    .gauge('seganet_session_info', 'Client ids and classes of the sessions.')
    .add({ ...labels, client: session.clientId, classes: session.classes.join(' ') }, 1);
  out
    .gauge('seganet_session_connected', '1 if the session accepts records.')
    .add(labels, session.state === 'connected');
  const state = out.gauge('seganet_session_state', 'State of the session: 1 for the current state.');
  for (const each of STATES) state.add({ ...labels, state: each }, session.state === each);
  out
    .gauge('seganet_session_inflight_packets', 'PUBLISH packets that the broker has not acknowledged.')
    .add(labels, session.inflight);
  out
    .gauge('seganet_session_oldest_record_age_seconds', 'Age of the oldest unacknowledged record.')
    .add(labels, known(session.oldestMs) / 1000);
  out
    .gauge('seganet_session_puback_rtt_seconds', 'Smoothed time from a PUBLISH to its PUBACK.')
    .add(labels, session.rttMs > 0 ? session.rttMs / 1000 : NaN);
  out.counters('seganet_session', OF_SESSION, labels, session);
  if (session.transport) {
    const transport = out.gauge(
      'seganet_session_transport',
      'Transport of the session: 1 for the current transport.'
    );
    for (const each of TRANSPORTS) transport.add({ ...labels, transport: each }, session.transport === each);
  }
  for (const path of session.paths ?? []) addSubflows(out, { ...labels, path: path.name }, path);
}

/**
 * Adds the metrics of a path that are the same for all sessions.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {PathView} path
 */
function addPath(out, labels, path) {
  const { role, address } = path;
  out
    .gauge('seganet_path_info', 'Role, interface and address of the paths.')
    .add({ ...labels, role, interface: path.interface, address }, 1);
  const state = out.gauge('seganet_path_state', 'State of the path: 1 for the current state.');
  for (const each of PATH_STATES) state.add({ ...labels, state: each }, path.state === each);
  out
    .gauge('seganet_path_changed_timestamp_seconds', 'When the path entered this state, since 1970.')
    .add(labels, Date.parse(path.since) / 1000);
  addQuality(out, labels, path);
}

/**
 * Adds the measurements of the path watch. An unknown value has no sample.
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {PathView} path
 */
function addQuality(out, labels, { actingRole, metered, quality }) {
  out
    .gauge(
      'seganet_path_backup',
      '1 if the path carries nothing while another one is up, because of its role or its quality.'
    )
    .add(labels, actingRole === 'backup');
  out.gauge('seganet_path_metered', '1 if the path costs by the byte.').add(labels, metered);
  if (!quality) return;
  out.gauge('seganet_path_signal_dbm', 'Strength of the Wi-Fi signal.').add(labels, quality.signalDbm ?? NaN);
  out
    .gauge('seganet_path_link_quality_ratio', 'Quality of the Wi-Fi link according to its signal, 0 to 1.')
    .add(labels, (quality.linkPercent ?? NaN) / 100);
  out
    .gauge('seganet_path_probe_rtt_seconds', 'Smoothed round trip of the probes.')
    .add(labels, (quality.rttMs ?? NaN) / 1000);
  out
    .gauge('seganet_path_probe_loss_ratio', 'Fraction of unanswered probes, 0 to 1.')
    .add(labels, (quality.lossPercent ?? NaN) / 100);
}

/**
 * @param {Exposition} out
 * @param {Labels} labels
 * @param {PathView} path with the subflows of one session
 */
function addSubflows(out, labels, path) {
  out
    .gauge('seganet_path_subflows', 'Established subflows of the session on the path.')
    .add(labels, path.subflows);
  out
    .gauge('seganet_path_rtt_seconds', 'Smoothed TCP round trip on the path; the longest of its subflows.')
    .add(labels, known(path.rttMs) / 1000);
  const present = 'restarts with each new subflow.';
  out
    .counter('seganet_path_retransmits_total', `Retransmitted segments; ${present}`)
    .add(labels, known(path.retransmits));
  out
    .counter('seganet_path_sent_bytes_total', `Payload bytes sent; ${present}`)
    .add(labels, known(path.bytesSent));
  out
    .counter('seganet_path_acked_bytes_total', `Bytes that the peer confirmed; ${present}`)
    .add(labels, known(path.bytesAcked));
}

/** @param {number} value @returns {number} NaN = unknown */
const known = (value) => (value >= 0 ? value : NaN);

exports.addUplink = addUplink;
