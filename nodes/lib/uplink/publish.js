'use strict';

const { writeTopic } = require('./topics');

const RETAIN_FLAG = 2; // Flag.RETAIN of the engine

/** @typedef {import('./slot').Slot} Slot */
/** @typedef {import('./topics').Part} Part */

/** Bytes after the fixed header. @param {number} topicLength @param {number} payloadLength @param {number} qos @param {boolean} isV5 */
function remainingLength(topicLength, payloadLength, qos, isV5) {
  return 2 + topicLength + (qos ? 2 : 0) + (isV5 ? 1 : 0) + payloadLength;
}

/** Bytes of the whole packet. @param {number} remaining */
function packetLength(remaining) {
  if (remaining < 128) return remaining + 2;
  if (remaining < 16384) return remaining + 3;
  return remaining + (remaining < 2097152 ? 4 : 5);
}

/**
 * Writes the PUBLISH of the record that the slot points at [MQTT 3.3]. QoS 0 when id is 0.
 * @param {Buffer} out @param {number} at
 * @param {Slot} slot @param {Part[]} topic @param {number} topicLength
 * @param {number} id packet identifier @param {boolean} dup @param {boolean} retain @param {boolean} isV5
 * @returns {number} where the packet ends
 */
function writePublish(out, at, slot, topic, topicLength, id, dup, retain, isV5) {
  const payloadLength = slot.payloadEnd - slot.payloadAt;
  const qos = id ? 1 : 0;
  // [MQTT-3.3.1-2] DUP is 0 for QoS 0.
  out[at++] = 0x30 | (dup && qos ? 0x08 : 0) | (qos << 1) | (retain ? 1 : 0);
  let rest = remainingLength(topicLength, payloadLength, qos, isV5);
  while (rest > 127) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  out[at++] = topicLength >>> 8;
  out[at++] = topicLength & 0xff;
  at = writeTopic(topic, slot, out, at);
  if (qos) {
    out[at++] = id >>> 8;
    out[at++] = id & 0xff;
  }
  if (isV5) out[at++] = 0; // no properties
  slot.buffer.copy(out, at, slot.payloadAt, slot.payloadEnd);
  return at + payloadLength;
}

module.exports = { RETAIN_FLAG, packetLength, remainingLength, writePublish };
