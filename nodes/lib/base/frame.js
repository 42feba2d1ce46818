'use strict';
// Decodes the frames that Engine.takeMessages() writes. They are little endian, and each starts at a multiple of 8.
//
//   u32  0 total bytes, padded   u32  4 stage id           u8   8 kind (0 record, 1 envelope)   u8 9 class
//   u8  10 flags                 u8  11 seal reason        u32 12 seq          u32 16 record count
//   u32 20 device length         u32 24 topic length       u32 28 payload length
//   f64 32 ts                    f64 40 last ts            f64 48 batch id     u32 56 batch record bytes
//   u32 64 deferral           u32 68 trace length   u32 72 note length
//   then device, topic (UTF-8), payload, trace (trace-context.js), note (JSON: more members of the message)

const { FLAG } = require('./record');
const { traceFields } = require('./trace-context');

const HEADER_BYTES = 80;
const sealReasons = /** @type {const} */ (['single', 'bytes', 'delay', 'flush', 'plan', 'demand']);

/**
 * Where a record entered the flow; absent if the wires do not determine it.
 * @typedef {{ protocol: string, nodeId: string }} Origin
 */

/**
 * @param {Buffer} bytes
 * @param {number} at start of the frame
 * @param {number} end end of the written bytes
 * @returns {number} the frame's length in bytes
 * @throws {RangeError} if the bytes are not a frame
 */
function frameLength(bytes, at, end) {
  const length = at + HEADER_BYTES <= end ? bytes.readUInt32LE(at) : 0;
  if (length < HEADER_BYTES || length % 8 !== 0 || at + length > end) {
    throw new RangeError(`no message frame at byte ${at} of ${end}`);
  }
  return length;
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {number} the stage whose node sends this message
 */
function frameStage(bytes, at) {
  return bytes.readUInt32LE(at + 4);
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {number} id of its records for Engine.endDeferrals(), 0 = no record waits for the flow
 */
function frameDeferral(bytes, at) {
  return bytes.readUInt32LE(at + 64);
}

/**
 * Builds the message of one frame. The payload is a copy, because the frame buffer is reused.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {Origin | undefined} origin
 * @returns {Record<string, unknown>}
 */
function frameMessage(bytes, at, origin) {
  const deviceEnd = at + HEADER_BYTES + bytes.readUInt32LE(at + 20);
  const topicEnd = deviceEnd + bytes.readUInt32LE(at + 24);
  const payloadEnd = topicEnd + bytes.readUInt32LE(at + 28);
  const traceEnd = payloadEnd + bytes.readUInt32LE(at + 68);
  const noteEnd = traceEnd + bytes.readUInt32LE(at + 72);
  if (noteEnd > at + bytes.readUInt32LE(at)) throw new RangeError(`message frame at byte ${at} is truncated`);
  const payload = Buffer.from(bytes.subarray(topicEnd, payloadEnd));
  const priority = bytes[at + 9];
  if (bytes[at + 8] === 1) {
    return {
      topic: bytes.toString('utf8', deviceEnd, topicEnd),
      payload,
      batch: {
        id: bytes.readDoubleLE(at + 48),
        count: bytes.readUInt32LE(at + 16),
        bytes: bytes.readUInt32LE(at + 56),
        priority,
        firstTs: bytes.readDoubleLE(at + 32),
        lastTs: bytes.readDoubleLE(at + 40),
        reason: sealReasons[bytes[at + 11]] ?? 'unknown'
      }
    };
  }
  const flags = bytes[at + 10];
  return {
    topic: bytes.toString('utf8', deviceEnd, topicEnd),
    payload,
    deviceId: bytes.toString('utf8', at + HEADER_BYTES, deviceEnd),
    priority,
    ts: bytes.readDoubleLE(at + 32),
    seq: bytes.readUInt32LE(at + 12),
    qos: flags & FLAG.QOS1 ? 1 : 0,
    retain: (flags & FLAG.RETAIN) !== 0,
    ...traceFields(bytes.toString('latin1', payloadEnd, traceEnd)),
    ...(noteEnd > traceEnd && JSON.parse(bytes.toString('utf8', traceEnd, noteEnd))),
    ...(origin && { source: { ...origin } })
  };
}

module.exports = { frameLength, frameStage, frameDeferral, frameMessage, HEADER_BYTES, sealReasons };
