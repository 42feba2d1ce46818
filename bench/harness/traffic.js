'use strict';
// Devices of one class each, and the gateway's rules that assign the class.

const kinds = ['', 'alarm', 'high', 't', 'bulk', '5', '6', '7', '8'];

/**
 * @typedef {object} Traffic
 * @property {number} class @property {number} devices
 * @property {number} perSecond records, all devices together
 * @property {number} [payload] bytes
 * @property {number} [inflight] most unacknowledged records of a device; further records wait at the device
 */

/**
 * Returns the gateway's rules: by the last level of the topic; topics without a rule have class 3.
 * @param {Traffic[]} traffic @returns {string}
 */
function rulesOf(traffic) {
  const ruled = traffic.filter(({ class: cls }) => cls !== 3);
  return JSON.stringify(ruled.map(({ class: cls }) => ({ topic: `d/+/${kinds[cls]}`, class: cls })));
}

/**
 * Returns the options of the generator. Each class has its own range of device numbers.
 * @param {Traffic} traffic @returns {Record<string, string | number>}
 */
function loadOptions({ class: cls, devices, perSecond, payload, inflight }) {
  return {
    devices,
    rate: perSecond / devices,
    'first-device': cls * 1000,
    'alarm-every': cls === 1 ? 1 : 0,
    'topic-kind': cls === 1 ? 't' : kinds[cls],
    // The load is an open loop, and an acknowledgement may take over a second, because it waits for the cloud or the
    // log.
    inflight: inflight ?? Math.max(64, Math.ceil((perSecond / devices) * 5)),
    'lead-ms': 1000,
    ...(payload === undefined ? {} : { payload })
  };
}

/**
 * Returns the measured bytes on the network of a record in an envelope of 1 KiB: its line and its share of MQTT, TLS,
 * TCP and IP.
 * @param {number} payload
 */
const wireBytes = (payload) => Math.round((payload + 85) * 1.2);

module.exports = { rulesOf, loadOptions, wireBytes };
