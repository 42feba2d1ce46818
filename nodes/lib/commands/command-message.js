'use strict';
// Converts between commands and messages of a flow.

const { isBlank } = require('../base/options');
const { toDeviceId, toPayload } = require('../base/record');
const { MAX_EXPIRY_S, deviceTopic, restOf } = require('./command');

/**
 * @param {any} msg
 * @param {{ topicIs: 'rest' | 'whole', expiryS: number }} settings of the node
 * @returns {{ device: string, topic: string, payload: Buffer, qos: 0 | 1, expiryS: number }}
 * @throws {Error} with a sentence
 */
function toCommand(msg, { topicIs, expiryS }) {
  const device = toDeviceId(msg.deviceId);
  const given = isBlank(msg.topic) ? '' : msg.topic;
  if (typeof given !== 'string') throw new Error('msg.topic must be text.');
  return {
    device,
    topic: topicOf(device, given, topicIs),
    payload: toPayload(msg.payload),
    qos: isBlank(msg.qos) || Number(msg.qos) > 0 ? 1 : 0,
    expiryS: expiryOf(msg.expiry, expiryS)
  };
}

/**
 * @param {string} device
 * @param {string} given
 * @param {'rest' | 'whole'} topicIs
 */
function topicOf(device, given, topicIs) {
  const head = deviceTopic(device, '');
  // A message from a command node may be sent back unchanged.
  const isWhole = topicIs === 'whole' || given === head || given.startsWith(`${head}/`);
  if (!isWhole) return deviceTopic(device, given);
  if (given === '')
    throw new Error('The message has no topic. Set msg.topic to a topic that the device subscribes to.');
  return given;
}

/**
 * @param {unknown} value seconds
 * @param {number} fallback
 */
function expiryOf(value, fallback) {
  if (isBlank(value)) return fallback;
  const seconds = Number(value);
  if (!(seconds > 0 && seconds <= MAX_EXPIRY_S))
    throw new Error(`msg.expiry must be a number of seconds from 1 to ${MAX_EXPIRY_S}, not "${value}".`);
  return seconds;
}

/**
 * @param {import('./command-carriers').CommandView} command
 * @param {import('./command').Origin} origin
 */
function toMessage(command, { responseTopic, correlation }) {
  const { id, device: deviceId, topic, payload, qos, expiresAt } = command;
  return {
    topic,
    payload,
    deviceId,
    qos,
    ...(responseTopic && { responseTopic }),
    ...(correlation && { correlationData: correlation }),
    command: { id, rest: restOf(command), expiresAt }
  };
}

module.exports = { toCommand, toMessage };
