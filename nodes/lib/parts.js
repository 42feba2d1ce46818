'use strict';
// The two heavy parts behind the nodes: the native addon and the uplink thread. Loaded on first use, so that the palette
// starts and can say what is wrong when one of them cannot be loaded.

/**
 * @typedef {typeof import('../../native/index.js')} Native
 * @typedef {new (options: any) => UplinkThread} UplinkThreadClass
 *
 * @typedef {object} UplinkThread one worker thread with the MQTT sessions of one broker
 * @property {(event: 'state' | 'problem', listener: (event: any) => void) => unknown} on
 * @property {(stages: Record<number, { topic: string, recordTopic: string, qos: 0 | 1 }>) => unknown} setStages
 * @property {(token: number, uplink: number) => unknown} attach
 * @property {(timeoutMs: number) => Promise<unknown>} stop
 *
 * @typedef {object} UplinkState
 * @property {'connecting' | 'connected' | 'reconnecting' | 'disconnected' | 'refused' | 'stopped'} state
 * @property {string} [code] such as ECONNREFUSED
 * @property {string} [reason]
 * @property {number} [rttMs]
 * @property {number} [inflight]
 * @property {number} [published]
 * @property {number} [acknowledged]
 * @property {number} [redelivered]
 * @property {number} [failed]
 *
 * @typedef {object} Uplink
 * @property {UplinkThreadClass} UplinkThread
 * @property {(template: string) => unknown} validateTopicTemplate
 */

/** @type {{ native?: Native, uplink?: Uplink }} */
const replaced = {};

/** @returns {Native} throws the loader's Error when the addon cannot be loaded */
function native() {
  return replaced.native ?? require('../../native/index.js');
}

/** @returns {Uplink} */
function uplink() {
  return replaced.uplink ?? require('./uplink/index.js');
}

/**
 * For tests: puts other parts in place; without an argument the real ones are used again.
 * @param {{ native?: any, uplink?: any }} [parts]
 */
function replaceParts(parts = {}) {
  replaced.native = parts.native;
  replaced.uplink = parts.uplink;
}

module.exports = { native, uplink, replaceParts };
