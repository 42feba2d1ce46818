'use strict';
// What the feeder and the sender are given, for the type checker.

/**
 * @typedef {object} Link what the broker granted
 * @property {number} protocolVersion 4 or 5
 * @property {boolean} [sessionPresent] the broker kept the session of the last connection
 * @property {number} receiveMaximum
 * @property {number} maximumPacketSize 0 = no limit that it told
 * @property {number} maximumQos
 * @property {boolean} retainAvailable
 * @property {import('../session/connection-stream').WireStream} [wire] the connection, when the engine makes it
 */

/**
 * @typedef {object} FeederOptions
 * @property {import('./in-flight-window').Window} window
 * @property {import('./output').Output} output
 * @property {import('./pacer').Pacer} pacer
 * @property {() => void} schedule asks for a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem a record was refused, or cannot be sent
 * @property {number} [retryMs] wait after a refusal that looks final, and before the first trial of a suspect, default 1000
 * @property {number} [order] of the group, 0 (default) = the most urgent
 * @property {number} [turnMs] a pump gives the loop back after so long, default 4
 */

/**
 * @typedef {object} SenderHandlers
 * @property {(slot: import('./taken-batch').Slot) => void} settled nothing of the batch is open any more
 * @property {(slot: import('./taken-batch').Slot) => void} again the batch has something to send again
 * @property {(bytes: number) => void} roomier a packet of so many bytes left the window
 * @property {() => void} go what was held back may be sent
 * @property {(id: number) => import('./uplink-stage').Stage | undefined} stageOf
 */

module.exports = {};
