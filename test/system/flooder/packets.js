'use strict';
// Packets as bytes: valid ones of honest devices, and invalid ones.

const mqttPacket = require('mqtt-packet');

/** @param {string} clientId @param {{ version?: 4 | 5, user?: string, password?: string }} [options] */
function connect(clientId, { version = 4, user, password } = {}) {
  return mqttPacket.generate(
    /** @type {any} */ ({
      cmd: 'connect',
      clientId,
      protocolVersion: version,
      protocolId: 'MQTT',
      clean: true,
      keepalive: 0,
      ...(user && { username: user, password: Buffer.from(password ?? '') })
    })
  );
}

/** @param {string} topic @param {string | Buffer} payload @param {number} messageId QoS 1 */
function publish(topic, payload, messageId) {
  return mqttPacket.generate({
    cmd: 'publish',
    topic,
    payload,
    qos: 1,
    messageId,
    dup: false,
    retain: false
  });
}

/** The largest accepted packet, without its last byte. @param {number} bytes */
function unfinished(bytes) {
  return publish('t', Buffer.alloc(bytes), 1).subarray(0, -1);
}

/** Packets that are not records, by name. MQTT 3.1.1. */
const CONTROL = {
  subscribe: Buffer.from([0x82, 6, 0, 1, 0, 1, 0x61, 0]),
  both: Buffer.from([0x82, 6, 0, 1, 0, 1, 0x61, 0, 0xa2, 5, 0, 2, 0, 1, 0x61]),
  unsubscribe: Buffer.from([0xa2, 5, 0, 2, 0, 1, 0x61]),
  pingreq: Buffer.from([0xc0, 0]),
  pubrel: Buffer.from([0x62, 2, 0, 9]),
  puback: Buffer.from([0x40, 2, 0, 9])
};

/** MQTT 5: AUTH, which ends a connection that did not request it. */
const AUTH = Buffer.from([0xf0, 0]);

/**
 * A CoAP message (RFC 7252, 3).
 * @param {object} message
 * @param {number} [message.type] 0 CON, 1 NON
 * @param {number} [message.code]
 * @param {number} message.id
 * @param {Buffer} [message.token]
 * @param {string[]} message.path @param {boolean} [message.observe] @param {string | Buffer} [message.payload]
 */
function coap({ type = 0, code = 2, id, token = Buffer.alloc(0), path, observe = false, payload = '' }) {
  const parts = [Buffer.from([0x40 | (type << 4) | token.length, code, id >> 8, id & 255]), token];
  let number = 0;
  /** @param {number} option @param {Buffer} value */
  const add = (option, value) => {
    const length = value.length < 13 ? [] : [value.length - 13];
    parts.push(Buffer.from([((option - number) << 4) | Math.min(value.length, 13), ...length]), value);
    number = option;
  };
  if (observe) add(6, Buffer.alloc(0));
  for (const segment of path) add(11, Buffer.from(segment));
  if (payload.length > 0) parts.push(Buffer.from([0xff]), Buffer.from(payload));
  return Buffer.concat(parts);
}

module.exports = { connect, publish, unfinished, coap, CONTROL, AUTH };
