'use strict';

const QOS1 = 0x32;
const RETAIN = 0x01;
const NO_PROPERTIES = 0;
const MAX_TOPIC_BYTES = 65535;
/** Of the fixed header, the topic's length, the identifier and the length of the properties. */
const MAX_HEAD_BYTES = 1 + 4 + 2 + 2 + 1;

/**
 * Returns a PUBLISH [MQTT 3.3] at QoS 1.
 * @param {object} message
 * @param {string} message.topic at most 65,535 bytes
 * @param {Uint8Array} message.payload
 * @param {number} message.id packet identifier
 * @param {boolean} message.isV5
 * @param {boolean} message.retain
 * @returns {Buffer}
 */
function publishPacket({ topic, payload, id, isV5, retain }) {
  const name = Buffer.from(topic);
  if (name.length > MAX_TOPIC_BYTES)
    throw new RangeError(`The topic has more than ${MAX_TOPIC_BYTES} bytes.`);
  const rest = Buffer.concat([
    ...[u16(name.length), name, u16(id)],
    ...[Buffer.from(isV5 ? [NO_PROPERTIES] : []), payload]
  ]);
  return Buffer.concat([Buffer.from([QOS1 | (retain ? RETAIN : 0), ...lengthBytes(rest.length)]), rest]);
}

/**
 * Returns how many bytes of payload fit into a packet.
 * @param {number} packetBytes
 * @param {string} topic
 * @returns {number} 0 = none
 */
function payloadRoom(packetBytes, topic) {
  return Math.max(0, packetBytes - MAX_HEAD_BYTES - Buffer.byteLength(topic));
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

module.exports = { payloadRoom, publishPacket };
