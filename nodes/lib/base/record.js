'use strict';
// Converts a message to the arguments of Engine.push(), and refuses invalid messages with a sentence.

const { types } = require('node:util');
const { MAX_DEVICE_BYTES } = require('./device-id');
const { CLASS_WORDS, classNames, classOf } = require('./classes');
const { traceOf } = require('./trace-context');
const { shown } = require('./values');

const NORMAL = 3;
const MAX_TOPIC_BYTES = 65535;
/** The latest time of a Date (ECMA-262, 21.4.1.1). The engine accepts no later one. */
const MAX_TIME_MS = 8.64e15;
const FLAG = { QOS1: 1, RETAIN: 2, ENVELOPE: 4 };

/**
 * The arguments of one push.
 * @typedef {object} RecordArgs
 * @property {string} deviceId
 * @property {string} topic
 * @property {Buffer} payload
 * @property {number} cls class, 1..8
 * @property {number} flags Flag bits of the native API
 * @property {number} ts ms since the epoch, 0 = now
 * @property {number} seq -1 = the device's next number
 * @property {string} [trace] trace context as traceOf() returns it
 */

/** A message that cannot become a record. `message` gives the reason and a remedy. */
class RecordError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'RecordError';
    this.code = 'SEGANET_BAD_RECORD';
  }
}

/**
 * @param {unknown} value class number, its digits, or its name
 * @param {number} fallback for undefined, null and ''
 * @returns {number} 1..8, or the fallback
 */
function toClass(value, fallback) {
  if (value === undefined || value === null || value === '') return fallback;
  const number = classOf(value);
  if (number < 1) throw new RecordError(`The priority "${shown(value)}" is not a class. Use ${CLASS_WORDS}.`);
  return number;
}

/**
 * @param {unknown} payload
 * @returns {Buffer} a Buffer unchanged, a string as UTF-8, anything else as JSON
 */
function toPayload(payload) {
  // `instanceof` is also true for a Proxy of a Buffer, and false for a Buffer from a function node's sandbox.
  if (types.isUint8Array(payload)) {
    if (Buffer.isBuffer(payload)) return payload;
    return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  }
  if (typeof payload === 'string') return Buffer.from(payload, 'utf8');
  if (payload === undefined) return Buffer.alloc(0);
  let json;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw new RecordError(`msg.payload has no JSON form (${/** @type {Error} */ (error).message}).`);
  }
  if (json === undefined)
    throw new RecordError(`msg.payload is a ${typeof payload}, which has no JSON form.`);
  return Buffer.from(json, 'utf8');
}

/** @param {unknown} value */
function toDeviceId(value) {
  const id = typeof value === 'number' ? String(value) : value;
  if (typeof id !== 'string' || id === '') {
    throw new RecordError(
      'The message has no device id. Set msg.deviceId, or use an ingest node that gets it elsewhere.'
    );
  }
  if (Buffer.byteLength(id) > MAX_DEVICE_BYTES) {
    throw new RecordError(`The device id exceeds ${MAX_DEVICE_BYTES} bytes: ${id.slice(0, 40)}…`);
  }
  // The engine and the databases have UTF-8, in which each lone surrogate is U+FFFD.
  return id.toWellFormed();
}

/** @param {unknown} value */
function toTopic(value) {
  if (value === undefined || value === null) return '';
  const topic = String(value);
  if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) throw new RecordError('msg.topic exceeds 65,535 bytes.');
  // [MQTT-3.3.2-2], [MQTT-1.5.4-2]: a broker closes the session of a client that publishes to such a topic.
  if (/[+#\0]/.test(topic)) {
    throw new RecordError(`msg.topic "${topic}" contains +, # or NUL, so nothing can be published to it.`);
  }
  return topic;
}

/**
 * @param {unknown} value ms since the epoch, or a Date
 * @returns {number} whole ms; 0 = now, if a Date cannot hold the value
 */
function toTimestamp(value) {
  const ms = types.isDate(value) ? value.getTime() : value;
  const whole = typeof ms === 'number' ? Math.round(ms) : 0;
  return whole >= 1 && whole <= MAX_TIME_MS ? whole : 0;
}

/**
 * @param {unknown} value
 * @returns {number} the sequence number of a record that was in the engine before, else -1
 */
function toSequence(value) {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xffffffff ? Number(value) : -1;
}

/**
 * @param {Record<string, any>} msg
 * @returns {boolean} true for a batch; false for a record, including a record from an unbatch node
 */
function isBatch({ batch }) {
  return Boolean(batch) && batch.index === undefined;
}

/**
 * @param {Record<string, any>} msg
 * @param {{ deviceId?: unknown, cls?: number, seq?: number }} [given] set by the node; class 0 = the message's
 * @returns {RecordArgs}
 * @throws {RecordError}, or whatever a getter of the message throws
 */
function toRecord(msg, given = {}) {
  if (isBatch(msg)) {
    throw new RecordError('A batch arrived where records are expected. Wire a batch node to uplink nodes.');
  }
  return {
    deviceId: toDeviceId('deviceId' in given ? given.deviceId : msg.deviceId),
    topic: toTopic(msg.topic),
    payload: toPayload(msg.payload),
    cls: given.cls || toClass(msg.priority, NORMAL),
    flags: (Number(msg.qos) >= 1 ? FLAG.QOS1 : 0) | (msg.retain === true ? FLAG.RETAIN : 0),
    ts: toTimestamp(msg.ts),
    seq: given.seq ?? toSequence(msg.seq),
    trace: traceOf(msg.traceparent, msg.tracestate)
  };
}

/**
 * @param {Record<string, any>} msg a batch message
 * @returns {RecordArgs}
 */
function toEnvelope(msg) {
  return {
    deviceId: '',
    topic: toTopic(msg.topic),
    payload: toPayload(msg.payload),
    cls: toClass(msg.batch.priority, NORMAL),
    flags: FLAG.ENVELOPE | FLAG.QOS1,
    ts: toTimestamp(msg.batch.firstTs),
    seq: -1
  };
}

module.exports = {
  toRecord,
  toEnvelope,
  isBatch,
  toClass,
  toDeviceId,
  toPayload,
  toTimestamp,
  classNames,
  RecordError,
  FLAG
};
