'use strict';

const QOS1_RETAIN = 0x33;
const NO_PROPERTIES = 0;
const MAX_TOPIC_BYTES = 65535;

/**
 * Returns a PUBLISH [MQTT 3.3] at QoS 1 with RETAIN.
 * @param {object} message
 * @param {string} message.topic at most 65,535 bytes
 * @param {Uint8Array} message.payload
 * @param {number} message.id packet identifier
 * @param {boolean} message.isV5
 * @returns {Buffer}
 */
function retainedPacket({ topic, payload, id, isV5 }) {
  const name = Buffer.from(topic);
  if (name.length > MAX_TOPIC_BYTES)
    throw new RangeError(`The topic has more than ${MAX_TOPIC_BYTES} bytes.`);
  const rest = Buffer.concat([
    ...[u16(name.length), name, u16(id)],
    ...[Buffer.from(isV5 ? [NO_PROPERTIES] : []), payload]
  ]);
  return Buffer.concat([Buffer.from([QOS1_RETAIN, ...lengthBytes(rest.length)]), rest]);
}

/** @param {number} value @returns {Buffer} */
function u16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** Returns a variable byte integer [MQTT 1.5.5]. @param {number} value @returns {number[]} */
function lengthBytes(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}

module.exports = { retainedPacket };
