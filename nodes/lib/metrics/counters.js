'use strict';
// The engine's counters (native/core/base/counters.h) as metrics: name without seganet_ and _total, and what it counts.

/** @type {Record<string, [string, string]>} */
const COUNTERS = {
  connectionsAccepted: ['connections_accepted', 'Connections of devices that were accepted.'],
  connectionsRefused: ['connections_refused', "Connections over the engine's limit of devices."],
  connectTimeouts: ['connect_timeouts', 'Connections without a CONNECT in time.'],
  devicesConnected: ['device_logins', 'Devices that connected, each time.'],
  takeOvers: ['device_takeovers', 'Connections replaced by a newer one with the same client id.'],
  keepAliveTimeouts: ['keepalive_timeouts', 'Connections closed as their device was silent.'],
  protocolErrors: ['protocol_errors', 'Connections closed for breaking the protocol.'],
  connectionsClosed: ['connections_closed', 'Connections of devices that ended.'],
  bytesReceived: ['received_bytes', 'Bytes that devices sent.'],
  reads: ['reads', 'Reads from the sockets of devices.'],
  recordsReceived: ['records_received', 'Records taken in, each once.'],
  recordsPushed: ['records_pushed', 'Records handed in by JavaScript, returns from message wires included.'],
  recordsQueued: ['records_queued', 'Records queued for an uplink.'],
  recordsDelivered: ['records_delivered', 'Records acknowledged by the cloud.'],
  batchesSealed: ['batches_sealed', 'Batches made.'],
  batchesDelivered: ['batches_delivered', 'Batches acknowledged by the cloud.'],
  batchesRedelivered: ['batches_redelivered', 'Batches sent again after a lost session.'],
  messagesOut: ['messages_out', 'Records and batches given to Node-RED as messages.'],
  recordsStored: ['records_stored', 'Records written to the log.'],
  chunksStored: ['chunks_stored', 'Chunks written to the log.'],
  bytesStored: ['stored_bytes', 'Bytes written to the log.'],
  chunksFreed: ['chunks_freed', 'Chunks deleted from the log, as the cloud has them.'],
  recordsRecovered: ['records_recovered', 'Records found in the log at the start.'],
  recordsReplayed: ['records_replayed', 'Records read back from the log to be sent.'],
  storeFailures: ['store_failures', 'Commits of the log that failed; their records were written again.'],
  slowed: ['slowed', 'Times that a class had no room, so that its devices waited.'],
  halfOpenEvicted: ['half_open_evicted', 'Connections without a login that gave way to newer ones.'],
  loginsRefused: ['logins_refused', 'Logins of devices that were refused.'],
  throttled: ['throttled', 'Times that a device was over its rate.'],
  notAllowed: [
    'not_allowed',
    'Publishes, subscriptions and wills that the permissions refuse, and unproven connections under a proven id.'
  ],
  topicsRefused: [
    'topics_refused',
    'Publishes of MQTT 5 devices to a topic that begins with $ or has a control character.'
  ],
  eventsLost: ['events_lost', 'Events of devices that Node-RED was too slow for.'],
  datagrams: ['datagrams_received', 'CoAP messages over UDP.'],
  datagramsCrossed: ['datagrams_crossed', 'Of these, passed on to the worker that owns the device.'],
  datagramsLost: ['datagrams_lost', 'Too many for a worker, or not taken by the network.'],
  datagramsMalformed: ['datagrams_malformed', 'Datagrams that are no CoAP.'],
  datagramsIgnored: ['datagrams_ignored', 'Datagrams to a group, and errors over the limit.'],
  datagramsDuplicate: ['datagrams_duplicate', 'Datagrams that a device sent again.'],
  datagramsSentAgain: ['datagrams_sent_again', 'Datagrams that the gateway sent again.'],
  coapRefused: ['coap_refused', 'Requests over UDP that were answered 4.xx or 5.xx.'],
  coapPeersLost: ['coap_peers_lost', 'Far ends that acknowledged nothing after four repetitions.']
};

/**
 * @param {import('./text').Exposition} out @param {import('./text').Labels} labels
 * @param {Record<string, number>} counters one that is not in the table goes by its own name, so that none is missing
 */
function addCounters(out, labels, counters) {
  for (const [name, value] of Object.entries(counters)) {
    const snake = name.replace(/[^a-zA-Z0-9]/g, '_').replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    const [short, help] = COUNTERS[name] ?? [snake, `Counter ${name} of the engine.`];
    out.counter(`seganet_${short}_total`, help).add(labels, value);
  }
}

module.exports = { COUNTERS, addCounters };
