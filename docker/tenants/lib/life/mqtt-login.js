'use strict';
// The first packets of an MQTT 3.1.1 session, which prove that a tenant serves devices.

const DISCONNECT = Buffer.from([0xe0, 0]);
/** The result for a packet that is not a CONNACK. */
const NO_CONNACK = 255;

/** @param {string} text @returns {Buffer} with its length [MQTT-1.5.3] */
function field(text) {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/**
 * A CONNECT of a clean session. User name and client id are the same, and not the front's, whose session would end.
 * @param {{ user: string, password: string }} login together at most 100 bytes
 */
function connectPacket({ user, password }) {
  const flags = 0x80 | 0x40 | 0x02; // user name, password, clean session
  const body = Buffer.concat([
    field('MQTT'),
    Buffer.from([4, flags, 0, 10]),
    field(user),
    field(user),
    field(password)
  ]);
  // One byte is enough for the remaining length below 128.
  if (body.length > 127) throw new RangeError('The login is too long.');
  return Buffer.concat([Buffer.from([0x10, body.length]), body]);
}

/** @param {Buffer} bytes @returns {number | null} return code, 0 = accepted; null: incomplete */
function readConnack(bytes) {
  if (bytes.length > 0 && bytes[0] !== 0x20) return NO_CONNACK;
  if (bytes.length < 4) return null;
  return bytes[1] === 2 ? bytes[3] : NO_CONNACK;
}

module.exports = { connectPacket, readConnack, DISCONNECT };
