'use strict';
// The device id and the topics of a device.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const { fill } = require('../../base/templates');
const { addressOf, nameOf } = require('./advertisement');

/**
 * @typedef {object} Identity
 * @property {string} address
 * @property {string} name the address if the device has no name
 * @property {string} device
 */

/**
 * @param {import('./ble-settings').BleSettings} settings
 * @param {import('./advertisement').Heard} heard
 * @returns {Identity}
 */
function identify({ deviceId }, heard) {
  const address = addressOf(heard);
  const name = nameOf(heard) || address;
  const device = fill(deviceId, { address, name });
  const usable = device !== '' && Buffer.byteLength(device) <= MAX_DEVICE_BYTES;
  return { address, name, device: usable ? device : address };
}

/**
 * @param {import('./ble-settings').BleSettings} settings
 * @param {Identity} identity
 * @param {string} kind advertisement, rssi, or the name of a characteristic
 */
const topicOf = ({ topic }, { address, name, device }, kind) => fill(topic, { address, name, device, kind });

module.exports = { identify, topicOf };
