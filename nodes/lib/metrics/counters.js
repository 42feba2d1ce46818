'use strict';
// The engine's counters (native/core/base/counters.h) as metrics: the name without seganet_ and _total, and the help
// text.

/** @type {Record<string, [string, string]>} */
const COUNTERS = {
  connectionsAccepted: ['connections_accepted', 'Accepted device connections.'],
  connectionsRefused: ['connections_refused', "Connections refused because of the engine's device limit."],
  connectTimeouts: ['connect_timeouts', 'Connections without a timely CONNECT.'],
  devicesConnected: ['device_logins', 'Device connects, repeated ones included.'],
  takeOvers: ['device_takeovers', 'Connections replaced by a newer one with the same client id.'],
  keepAliveTimeouts: ['keepalive_timeouts', 'Connections closed because the device was silent.'],
  protocolErrors: ['protocol_errors', 'Connections closed for protocol errors.'],
  connectionsClosed: ['connections_closed', 'Closed device connections.'],
  bytesReceived: ['received_bytes', 'Bytes that devices sent.'],
  reads: ['reads', 'Reads from device sockets.'],
  recordsReceived: ['records_received', 'Records received, each counted once.'],
  recordsPushed: ['records_pushed', 'Records pushed by JavaScript, including returns from message wires.'],
  recordsQueued: ['records_queued', 'Records queued for an uplink.'],
  recordsFiltered: ['records_filtered', 'Records that filter nodes left out, by each of them.'],
  windowsEnded: ['windows_ended', 'Windows of filter nodes that ended; each became a record.'],
  windowsEndedEarly: ['windows_ended_early', 'Of these, windows that ended before their time.'],
  batchesSealed: ['batches_sealed', 'Batches sealed.'],
  sealedBytes: ['batches_sealed_bytes', 'Bytes of these batches.'],
  sealedBySingle: ['batches_sealed_by_single', 'Of these, records that waited for no others.'],
  sealedBySize: ['batches_sealed_by_size', 'Of these, batches that reached their size limit.'],
  sealedByDelay: ['batches_sealed_by_delay', 'Of these, batches that reached their age limit.'],
  sealedByFlush: ['batches_sealed_by_flush', 'Of these, batches sealed by a flush or by an urgent record.'],
  sealedByPlan: ['batches_sealed_by_plan', 'Of these, batches sealed because of a deploy.'],
  sealedByDemand: ['batches_sealed_by_demand', 'Of these, batches that an uplink demanded.'],
  batchesDelivered: ['batches_delivered', 'Batches acknowledged by the cloud.'],
  batchesRedelivered: ['batches_redelivered', 'Batches sent again after a lost session.'],
  messagesOut: ['messages_out', 'Records and batches passed to Node-RED as messages.'],
  recordsStored: ['records_stored', 'Records written to the log.'],
  chunksStored: ['chunks_stored', 'Chunks written to the log.'],
  bytesStored: ['stored_bytes', 'Bytes written to the log.'],
  chunksFreed: ['chunks_freed', 'Chunks deleted from the log because the cloud has them.'],
  recordsRecovered: ['records_recovered', 'Records found in the log at startup.'],
  recordsReplayed: ['records_replayed', 'Records read back from the log for sending.'],
  recordsSentAgain: ['records_sent_again', 'Records of dead letters that were queued to be sent again.'],
  storeFailures: ['store_failures', 'Failed commits of the log; their records were written again.'],
  slowed: ['slowed', 'Times that a class had no room, so that its devices waited.'],
  halfOpenEvicted: ['half_open_evicted', 'Connections closed before a login to make room for newer ones.'],
  loginsRefused: ['logins_refused', 'Refused device logins.'],
  throttled: ['throttled', 'Times that a device exceeded its rate.'],
  notAllowed: [
    'not_allowed',
    'Publishes, subscriptions and wills that the permissions refused, and unproven connections with a proven id.'
  ],
  topicsRefused: [
    'topics_refused',
    'Publishes of MQTT 5 devices to topics that begin with $ or contain a control character.'
  ],
  notSpokenFor: [
    'not_spoken_for',
    'Records that kept the id of their bridge because it cannot speak for the device that they name.'
  ],
  subscriberRecords: ['subscriber_records', 'Records passed to local subscribers, once for each of them.'],
  subscriberDrops: ['subscriber_drops', 'Records dropped for a local subscriber that read too slowly.'],
  eventsLost: ['events_lost', 'Device events lost because Node-RED was too slow.'],
  datagrams: ['datagrams_received', 'CoAP messages over UDP.'],
  datagramsCrossed: ['datagrams_crossed', 'Of these, passed to the worker that owns the device.'],
  datagramsLost: [
    'datagrams_lost',
    'Datagrams dropped because a worker was full or the network did not accept them.'
  ],
  datagramsMalformed: ['datagrams_malformed', 'Datagrams that are not CoAP.'],
  datagramsIgnored: ['datagrams_ignored', 'Ignored datagrams: to a group, or errors beyond the limit.'],
  datagramsDuplicate: ['datagrams_duplicate', 'Datagrams retransmitted by devices.'],
  datagramsSentAgain: ['datagrams_sent_again', 'Datagrams retransmitted by the gateway.'],
  coapRefused: ['coap_refused', 'Requests over UDP answered with 4.xx or 5.xx.'],
  dtlsChallenges: ['dtls_challenges', 'ClientHellos answered with a cookie.'],
  dtlsHandshakes: ['dtls_handshakes', 'Completed DTLS handshakes, resumed ones included.'],
  dtlsResumed: ['dtls_resumed', 'DTLS handshakes that resumed a session.'],
  dtlsRefused: ['dtls_refused', 'Failed DTLS handshakes.'],
  dtlsLimited: ['dtls_limited', "ClientHellos over their host's rate."],
  dtlsIgnored: ['dtls_ignored', 'Datagrams that belong to no DTLS session.'],
  dtlsEnded: ['dtls_ended', 'Ended DTLS sessions.'],
  coapPeersLost: ['coap_peers_lost', 'Peers that acknowledged nothing after four retransmissions.'],
  requestsForwarded: ['requests_forwarded', 'CoAP requests that a worker passed from one device to another.'],
  requestsRecorded: ['requests_recorded', 'CoAP posts to topics that a worker took without JavaScript.'],
  napsEnded: ['naps_ended', 'Sleeps of busy workers that urgent devices ended.'],
  valuesEvicted: ['values_evicted', 'Last values that made room for others.']
};

/** Shown by class, see engine.js. */
const BY_CLASS = ['recordsDelivered'];

/**
 * @param {import('./text').Exposition} out
 * @param {import('./text').Labels} labels
 * @param {Record<string, number>} counters one that is not in the table keeps its own name, so that none is missing
 */
function addCounters(out, labels, counters) {
  for (const [name, value] of Object.entries(counters)) {
    if (BY_CLASS.includes(name)) continue;
    const snake = name.replace(/[^a-zA-Z0-9]/g, '_').replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    const [short, help] = COUNTERS[name] ?? [snake, `Counter ${name} of the engine.`];
    out.counter(`seganet_${short}_total`, help).add(labels, value);
  }
}

module.exports = { COUNTERS, addCounters };
