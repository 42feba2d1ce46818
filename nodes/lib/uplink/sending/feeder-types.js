'use strict';
// Types of the arguments of the feeder and the sender.

/**
 * @typedef {object} Link what the broker granted
 * @property {number} protocolVersion 4 or 5
 * @property {boolean} [sessionPresent] the broker kept the session of the last connection
 * @property {boolean} [isElsewhere] the last connection was to another URL, whose broker this one may not know
 * @property {number} receiveMaximum
 * @property {number} maximumPacketSize 0 = the broker gave no limit
 * @property {number} maximumQos
 * @property {boolean} retainAvailable
 * @property {import('../session/connection-stream').ConnectionStream} [wire] the connection, if the engine makes it
 */

/**
 * @typedef {object} FeederOptions
 * @property {Pick<typeof import('../../../../native'), 'PublishWriter'>} native
 * @property {import('./in-flight-window').InFlightWindow} window
 * @property {import('./output').Output} output
 * @property {import('./pacer').Pacer} pacer
 * @property {() => void} schedule requests a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem a record was refused, or cannot be sent
 * @property {number} [retryMs] wait after a refusal that looks permanent, and before the first trial of a poison
 *   record, default 1000
 * @property {number} [order] of the group, 0 (default) = the most urgent
 * @property {number} [turnMs] time after which a pump returns to the event loop, default 4
 * @property {boolean} [subscribes] the session also receives messages
 * @property {(code: number) => void} [onRefused] of a session that sends copies: the broker refused one. The session
 *   must end, and what it took is left to the other session
 */

/**
 * @typedef {object} SenderHandlers
 * @property {(batch: import('./taken-batch').TakenBatch) => void} settled no packet of the batch is open
 * @property {(batch: import('./taken-batch').TakenBatch) => void} again the batch has something to send again
 * @property {(bytes: number) => void} roomier a packet of this many bytes left the window
 * @property {() => void} go packets that were held back may be sent
 * @property {(id: number) => import('./uplink-stage').Stage | undefined} stageOf
 * @property {(code: number) => void} [refused] see onRefused
 */

module.exports = {};
