'use strict';
// Sentences for the user about records that the broker does not accept.

const { closeName } = require('../../session/reason-codes');
const { readable } = require('../../../base/readable');
const { MAX_TRIES } = require('./refusals');

const UNMATCHED =
  'The broker accepts records that no client subscribes to (PUBACK 0x10): it drops them, and they count as delivered. Check the topics of the uplink nodes and the subscriptions of the receivers.';

/** @param {string} name of the reason */
function allRefused(name) {
  return `The broker refuses every record of this session (${name}). All records are kept and retried, eventually once a minute; none is given up. Check the rights of this client at the broker, and the topics of the uplink nodes.`;
}

/** @param {string} name of the reason */
function refusedForNow(name) {
  return `The broker refuses records for now (${name}). They are kept and sent again at growing intervals.`;
}

/** @param {number} size @param {number} limit */
function tooLarge(size, limit) {
  return `A record was refused: its packet has ${size} bytes and the broker accepts ${limit}. Raise the broker's limit, or make the device send smaller messages.`;
}

/** @param {string} record for display @param {number} size */
function closesOnSize(record, size) {
  return `A record was refused: its packet has ${size} bytes, and the broker closes the connection because of it: ${record}. Raise the broker's packet limit, or make the device send smaller messages.`;
}

/** @param {string} record for display @param {number} code of the DISCONNECT, 0 = none */
function closesOn(record, code) {
  return `The broker closes the connection when ${record} is sent (${closeName(code)}); the record is now a dead letter. Check its topic and what the broker allows.`;
}

/** @param {string} record for display @param {number} code of the DISCONNECT, 0 = none */
function suspected(record, code) {
  return `The broker repeatedly closes the connection when ${record} is sent (${closeName(code)}). The record is set aside while the others continue; it becomes a dead letter if the broker closes the connection because of this record alone.`;
}

/** @param {string} name of the reason */
function refusedForGood(name) {
  return `The broker refused a record ${MAX_TRIES} times (${name}); the record is now a dead letter. Check the topic and the rights of this client at the broker.`;
}

/**
 * @param {string} device '' = unknown
 * @param {string} topic '' = unknown
 * @param {number} size of its packet in bytes
 */
function recordName(device, topic, size) {
  const who = device === '' ? '' : ` from the device ${readable(device)}`;
  return `a record${who} (${topic === '' ? '' : `topic ${readable(topic)}, `}${size} bytes)`;
}

module.exports = {
  UNMATCHED,
  allRefused,
  closesOn,
  closesOnSize,
  recordName,
  refusedForGood,
  refusedForNow,
  suspected,
  tooLarge
};
