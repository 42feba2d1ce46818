'use strict';
// Devices behind a bridge: where a client that speaks for many devices, such as Zigbee2MQTT, names the device of a
// message.

const { MAX_DEVICE_BYTES } = require('../base/device-id');
const { shown } = require('../base/values');
const { filterProblem } = require('./rules');

/** Limits of the engine (native/core/plan/bridges.h). */
const MAX_ROWS = 64;
const MAX_TOPIC_BYTES = 1024;
const PLACEHOLDER = '{device}';

/** @typedef {NonNullable<import('../../../native/index.js').SourceSettings['bridges']>[number]} BridgeRow */

/**
 * @param {string} text such as "zigbee2mqtt=zigbee2mqtt/{device}/#, gw*=payload.mac"
 * @returns {BridgeRow[]} in their order
 * @throws {RangeError} with a sentence
 */
function parseBridges(text) {
  const rows = text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
    .map(rowOf);
  if (rows.length > MAX_ROWS)
    throw new RangeError(
      `Devices behind a bridge has ${rows.length} rules; there may be ${MAX_ROWS} at most.`
    );
  return rows;
}

/** @param {string} text @returns {BridgeRow} */
function rowOf(text) {
  const [, device = '', from = ''] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(text) ?? [];
  const where = `Devices behind a bridge: "${shown(text)}"`;
  if (!device)
    throw new RangeError(`${where} must be BRIDGE=TOPIC, such as zigbee2mqtt=zigbee2mqtt/{device}/#.`);
  if (Buffer.byteLength(device) > MAX_DEVICE_BYTES)
    throw new RangeError(`${where} names a bridge of more than ${MAX_DEVICE_BYTES} bytes.`);
  if (/^payload[.[]/.test(from) && !from.includes(PLACEHOLDER)) {
    const member = `$${from.slice('payload'.length)}`;
    const reason = require('../../../native/index.js').checkPath(member);
    if (reason) throw new RangeError(`${where}: "${shown(from)}" is not a member of a payload (${reason}).`);
    return { device, member };
  }
  const levels = from.split('/');
  if (levels.filter((level) => level === PLACEHOLDER).length !== 1 || from.split(PLACEHOLDER).length !== 2)
    throw new RangeError(
      `${where} must have ${PLACEHOLDER} as one whole level of the topic, or be a member of the payload, such as payload.mac.`
    );
  const problem = filterProblem(from.replace(PLACEHOLDER, '+'));
  if (problem) throw new RangeError(`${where} ${problem}.`);
  if (Buffer.byteLength(from) > MAX_TOPIC_BYTES)
    throw new RangeError(`${where} has a topic of more than ${MAX_TOPIC_BYTES} bytes.`);
  return { device, topic: from };
}

exports.parseBridges = parseBridges;
