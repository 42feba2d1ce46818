'use strict';
// A command is a message from the cloud or a flow to one device.

const { MAX_DEVICE_BYTES } = require('../base/device-id');

/**
 * Where and how to report the result of a cloud command.
 * @typedef {object} Origin
 * @property {string} broker id of the broker node from which it came
 * @property {string} rest the topic after the device, '' = none
 * @property {string} [tenant] that sent it
 * @property {string} [responseTopic] MQTT 5: instead of the report topic
 * @property {Buffer} [correlation] MQTT 5
 *
 * @typedef {object} Command
 * @property {string} id for display and reports
 * @property {string} device 1 to 256 bytes
 * @property {string} topic as sent to the device
 * @property {Buffer} payload
 * @property {0 | 1} qos 0: not stored if the device is not reachable
 * @property {number} expiresAt ms since 1970
 * @property {Origin | null} origin null: a flow sent it
 *
 * @typedef {'taken' | 'queued' | 'expired' | 'refused' | 'timeout' | 'full'} Status reported; all but queued are final
 */

/** First level of command topics for devices. */
const DEVICE_PREFIX = 'cmd';
const MAX_TOPIC_BYTES = 65535;
const DEFAULT_EXPIRY_S = 86400;
const MAX_EXPIRY_S = 0xffffffff;

/**
 * @param {string} device
 * @param {string} rest
 */
function deviceTopic(device, rest) {
  return rest === '' ? `${DEVICE_PREFIX}/${device}` : `${DEVICE_PREFIX}/${device}/${rest}`;
}

/**
 * @param {Pick<Command, 'device' | 'topic'>} command
 * @returns {string} the topic after the device, or the whole topic if it has another form
 */
function restOf({ device, topic }) {
  const head = deviceTopic(device, '');
  if (topic === head) return '';
  return topic.startsWith(`${head}/`) ? topic.slice(head.length + 1) : topic;
}

/**
 * @param {Pick<Command, 'device' | 'topic'>} command
 * @returns {string} why it cannot be sent, '' if it can
 */
function commandProblem({ device, topic }) {
  if (device === '' || Buffer.byteLength(device) > MAX_DEVICE_BYTES || device.includes('\0'))
    return `The device id must have 1 to ${MAX_DEVICE_BYTES} bytes, without NUL.`;
  // [MQTT-3.3.2-2] A topic name has no wildcards.
  if (topic === '' || Buffer.byteLength(topic) > MAX_TOPIC_BYTES || /[+#\0]/.test(topic))
    return `The topic of a command must have 1 to ${MAX_TOPIC_BYTES} bytes, without +, # and NUL.`;
  return '';
}

module.exports = { DEFAULT_EXPIRY_S, MAX_EXPIRY_S, commandProblem, deviceTopic, restOf };
