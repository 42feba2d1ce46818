'use strict';
// The large modules behind the nodes, such as the native addon, the uplink thread and the store thread. They are loaded
// on first use, so that the palette starts and can report the reason if one of them cannot be loaded.

const { threadsOf } = require('./additions');

/**
 * @typedef {typeof import('../../../native/index.js')} Native
 * @typedef {new (options: any) => UplinkThread} UplinkThreadClass
 *
 * @typedef {object} UplinkThread one worker thread with the MQTT sessions of one broker
 * @property {(event: 'state' | 'problem' | 'command', listener: (event: any) => void) => unknown} on
 * @property {(ack: string) => unknown} answer acknowledges a command that is stored
 * @property {(report: import('../commands/command-reports').Report) => unknown} report publishes a command's result
 * @property {(stages: Record<number, import('./broker-links').Topics>) => unknown} setStages
 * @property {(token: number, uplink: number) => unknown} attach
 * @property {(timeoutMs: number) => Promise<unknown>} stop
 *
 * @typedef {object} UplinkState
 * @property {'connecting' | 'connected' | 'stalled' | 'reconnecting' | 'disconnected' | 'refused' | 'stopped'} state
 * @property {string} [code] such as ECONNREFUSED
 * @property {string} [reason]
 * @property {number} [rttMs]
 * @property {number} [oldestMs] age of the oldest record without an acknowledgement; -1 = none
 * @property {number} [quotaWait] ms until records that the broker refused temporarily are sent again, 0 = none
 * @property {number} [inflight]
 * @property {number} [published]
 * @property {number} [acknowledged]
 * @property {number} [redelivered]
 * @property {number} [unmatched]
 * @property {number} [failed]
 * @property {number} [deadLetters]
 * @property {number} [refusals]
 * @property {number} [backlogInflight]
 * @property {number} [connects] connections that the broker accepted
 * @property {number} [bytesAcked] bytes that TCP confirmed on these connections
 * @property {number} [stalls] times that records stood still although the way was free, see stall-watch.js
 * @property {boolean} [isStallRepeating] this happened twice within ten minutes
 * @property {number} [compressedBatches] envelopes that were compressed
 * @property {number} [compressedFrom] their bytes before
 * @property {number} [compressedTo] their bytes after
 * @property {number} [keptUncompressed] envelopes that were not compressed because of a topic
 * @property {number} [compressionFailures] envelopes that the library failed to compress
 * @property {number} [dictionaries] dictionaries that the broker took
 * @property {('chosen' | 'busy' | 'metered' | 'saving')[]} [compressing] why envelopes are compressed now, if an uplink
 *   node compresses: the user chose it, the link is the limit or metered, or batches wait to save bytes; empty = `auto`
 *   waits for a reason
 * @property {number} [savedBytes] estimate of what batches and compression saved
 * @property {import('../kafka/uplink/kafka-group').GroupFigures[]} [producers] of a Kafka cluster: one for each session
 * @property {import('../parquet/metrics').FileFigures} [parquet] of a parquet uplink
 * @property {number} [url] with several URLs: where the uplink is, from 1
 * @property {import('../uplink/urls/uplink-urls').UrlView[]} [urls] in the order of priority
 * @property {import('../uplink/urls/uplink-urls').Move | null} [moved] the last change of the URL
 * @property {number} [failovers] changes of the URL because of a failure
 * @property {number} [returns] to a URL of higher priority that works again
 * @property {SessionState[]} [sessions] one for each group of classes, the most urgent first
 * @property {import('../uplink/second-session').AlarmsView} [alarms] if alarms are sent over two paths
 * @property {{ state: string, code: string, reason: string } & Record<string, unknown>} [commands] state of the session
 *   for commands, if commands are on
 * @property {NetworkView | null} [network] the interface that the sessions use
 * @property {import('../energy').EnergyView} [energy] if the machine has a sensor
 *
 * @typedef {object} SessionState
 * @property {number} group from 1
 * @property {number[]} classes
 * @property {string} clientId
 * @property {string} [url] host and port, with several URLs
 * @property {UplinkState['state']} state
 * @property {string} code
 * @property {string} reason
 * @property {number} rttMs
 * @property {number} oldestMs
 * @property {number} inflight
 * @property {number} backlogInflight
 * @property {number} published
 * @property {number} acknowledged
 * @property {number} connects
 * @property {number} [certificateEnds] of the broker, ms since 1970; 0 = it has none, or was not reached yet
 * @property {number} bytesAcked
 * @property {boolean} express
 * @property {number} batchBytes
 * @property {number} [busyMs] time in which the link was the limit, ms, of the present thread
 * @property {number} [busyBytes] what was acknowledged meanwhile, bytes
 * @property {number} priority
 * @property {number} dscp
 * @property {string} localAddress
 * @property {string} [transport] with paths: mptcp, fallback (to TCP), tcp
 * @property {import('../uplink/paths/path-view').PathView[]} [paths]
 *
 * @typedef {object} NetworkView whether an interface sends urgent packets first
 * @property {string} interface '' = not found
 * @property {boolean} ok
 * @property {string} kind such as htb, prio, pfifo_fast, none
 * @property {string} reason
 * @property {{ name: string, bytes: number, packets: number, dropped: number, backlogBytes: number }[]} bands
 *
 * @typedef {object} Net
 * @property {(localAddress: string) => Promise<NetworkView | null>} checkUplink
 *
 * @typedef {object} Uplink
 * @property {UplinkThreadClass} UplinkThread
 * @property {(template: string) => unknown} validateTopicTemplate
 * @property {(filters: string) => string[]} readFilters throws TypeError with a sentence
 *
 * @typedef {object} StoreOptions
 * @property {string} directory
 * @property {number} limitMiB
 * @property {number[]} classLimitMiB index = class
 * @property {'slow' | 'drop'} whenFull
 * @property {string} [url] of a database that two gateways share; '' = the log is a file
 * @property {string} [name] of the log there
 * @property {string} [place] name of this machine, for messages
 *
 * @typedef {object} PairView which part a gateway has in its pair
 * @property {'opening' | 'standby' | 'active'} role
 * @property {string} owner machine that has the log
 * @property {number} epoch
 * @property {boolean} isReplicated commits are on two machines
 * @property {string} reason why they are not
 *
 * @typedef {object} StoreThread the worker thread with the database of one engine's log
 * @property {(event: 'state' | 'problem' | 'counts' | 'lost', listener: (event: any) => void) => unknown} on counts:
 *   whether commits are on two machines; lost: another gateway has the log, this process ends
 * @property {import('../commands').Store} [commandStore] keeps commands beside a log that is shared
 * @property {Promise<void> | null} [owning] resolves when this gateway has a log that it shares; null = it has
 * @property {(token: number) => unknown} attach
 * @property {Promise<void> | null} [restoring] resolves when the MQTT sessions of an earlier run are restored; null =
 *   they are
 * @property {() => Promise<Holding[]>} holdings records on disk, by uplink node
 * @property {(file: string) => Promise<void>} backup copies the log into a new file
 * @property {(page: { after: number, limit: number }) => Promise<DeadLetterPage>} deadLetters
 * @property {(rows: number[] | null, nodes: string[]) => Promise<SentAgain>} sendAgain rows: null = all; nodes: uplink
 *   nodes of the flow
 * @property {(timeoutMs: number) => Promise<boolean>} stop
 *
 * @typedef {{ letters: import('../store/dead-letters').Letter[], next: number | null }} DeadLetterPage
 * @typedef {import('../store/dead-letters').Outcome & { failure: string }} SentAgain
 *
 * @typedef {{ node: string, records: number, classes: Record<number, number> }} Holding node: logName of an uplink
 *   node; classes: records by class
 *
 * @typedef {object} StoreState
 * @property {'opening' | 'standby' | 'ready' | 'full' | 'failing' | 'refused' | 'stopped'} state standby: another
 *   gateway has the log
 * @property {string} [code]
 * @property {string} [reason] a sentence
 * @property {number} [chunks]
 * @property {number[]} [records] by class
 * @property {number} [bytes]
 * @property {number} [limitBytes]
 * @property {number} [fileBytes]
 * @property {number} [dead]
 * @property {number} [quarantined]
 * @property {number} [commits]
 * @property {number} [commitMs]
 * @property {number} [bytesWritten]
 * @property {PairView} [pair] of a log that two gateways share
 *
 * @typedef {object} Store
 * @property {new (options: StoreOptions) => StoreThread} StoreThread
 *
 * @typedef {object} TlsThread the worker thread with the TLS and WebSocket listeners of one engine
 * @property {(stage: number, options: import('../tls/tls-server').TlsListenerOptions, hooks:
 *   import('../tls/tls-thread').TlsHooks) => { opened: Promise<number>, close: () => void }} open
 * @property {() => void} hold
 * @property {(timeoutMs: number) => Promise<unknown>} stop
 *
 * @typedef {object} Energy
 * @property {new () => { follow(bytes: number): import('../energy').EnergyView | null, stop(): void }} EnergyWatch
 *
 * @typedef {object} Tls
 * @property {new (token: number) => TlsThread} TlsThread
 */

/** By the names of the functions below, and of capabilities. @type {Record<string, any>} */
let replaced = {};

/** @returns {Native} throws the loader's Error if the addon cannot be loaded */
function native() {
  return replaced.native ?? require('../../../native/index.js');
}

/** @returns {Uplink} */
function uplink() {
  return replaced.uplink ?? require('../uplink/index.js');
}

/** @param {string} capability @returns {any} the module with the classes of its threads */
function threads(capability) {
  return replaced[capability] ?? threadsOf(capability);
}

/** @param {boolean} [isShared] two gateways have one log @returns {Store} */
function store(isShared = false) {
  return replaced.store ?? (isShared ? threads('pair') : require('../store/index.js'));
}

/** @returns {Net} */
function net() {
  return replaced.net ?? require('../network/qdisc/index.js');
}

/** @returns {Energy} */
function energy() {
  return replaced.energy ?? require('../energy/index.js');
}

/** @returns {Tls} */
function tls() {
  return replaced.tls ?? require('../tls/index.js');
}

/**
 * Replaces modules in tests. Without an argument it restores the real ones.
 * @param {Record<string, any>} [parts]
 */
function replaceModules(parts = {}) {
  replaced = { ...parts };
}

module.exports = { native, uplink, threads, store, net, tls, energy, replaceModules };
