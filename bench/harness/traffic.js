'use strict';
// Devices of one class each, and the gateway's rules that make it so.

const kinds = ['', 'alarm', 'high', 't', 'bulk', '5', '6', '7', '8'];

/**
 * @typedef {object} Traffic
 * @property {number} class @property {number} devices
 * @property {number} perSecond records, all devices together
 * @property {number} [payload] bytes
 * @property {number} [inflight] unacknowledged records of a device, at most: what is offered beyond waits at the device
 */

/**
 * The gateway's rules: by the last level of the topic; what none names is of class 3.
 * @param {Traffic[]} traffic @returns {string}
 */
function rulesOf(traffic) {
  const ruled = traffic.filter(({ class: cls }) => cls !== 3);
  return JSON.stringify(ruled.map(({ class: cls }) => ({ topic: `d/+/${kinds[cls]}`, class: cls })));
}

/**
 * Options of the generator. Each class has device numbers of its own.
 * @param {Traffic} traffic @returns {Record<string, string | number>}
 */
function loadOptions({ class: cls, devices, perSecond, payload, inflight }) {
  return {
    devices,
    rate: perSecond / devices,
    'first-device': cls * 1000,
    'alarm-every': cls === 1 ? 1 : 0,
    'topic-kind': cls === 1 ? 't' : kinds[cls],
    // An acknowledgement may take a second and more (it waits for the cloud or the log), and the load is an open loop.
    inflight: inflight ?? Math.max(64, Math.ceil((perSecond / devices) * 5)),
    'lead-ms': 1000,
    ...(payload === undefined ? {} : { payload })
  };
}

/**
 * Bytes on the wire that a record of an envelope of 1 KiB costs, measured: its line, and its part of MQTT, TLS, TCP and IP.
 * @param {number} payload
 */
const wireBytes = (payload) => Math.round((payload + 85) * 1.2);

module.exports = { rulesOf, loadOptions, wireBytes };
