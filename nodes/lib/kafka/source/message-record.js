'use strict';
// Converts a Kafka record to a record, with its device and class.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const { classOf } = require('../../base/classes');
const { FLAG, RecordError, toTimestamp } = require('../../base/record');
const { traceOf } = require('../../base/trace-context');

const NORMAL = 3;
const MAX_SEQ = 0xffffffff;
const MAX_TOPIC_BYTES = 65535;

/**
 * A Kafka record, as the thread passes it on.
 * @typedef {object} Message
 * @property {number} id
 * @property {string} topic
 * @property {Uint8Array | null} key
 * @property {Uint8Array | null} value
 * @property {[string, Uint8Array | null][]} headers
 * @property {number} ts ms since 1970
 *
 * @typedef {object} ReadingOptions
 * @property {'key' | 'header' | 'fixed'} deviceFrom
 * @property {string} device the fixed id, or the name of the header
 * @property {string} classHeader header with the class, '' = none
 * @property {number} class without one, 0 = normal
 */

/**
 * @param {Message} message
 * @param {ReadingOptions} options
 * @returns {import('../../base/record').RecordArgs}
 * @throws {RecordError}
 */
function toRecordArgs(message, options) {
  const { topic, value, ts } = message;
  const named = options.classHeader ? classOf(header(message, options.classHeader) ?? '') : 0;
  const original = header(message, 'topic');
  const isUsable =
    original !== undefined && Buffer.byteLength(original) <= MAX_TOPIC_BYTES && !/[+#\0]/.test(original);
  return {
    deviceId: deviceOf(message, options),
    topic: isUsable ? original : topic,
    payload: Buffer.from(value ?? []),
    cls: named || options.class || NORMAL,
    flags: FLAG.QOS1,
    // Others write nanoseconds, too: such a record has its time of arrival. An uplink writes none if Kafka refuses it.
    ts: toTimestamp(ts) || toTimestamp(Number(header(message, 'ts'))),
    seq: seqOf(header(message, 'seq')),
    trace: traceOf(header(message, 'traceparent'), header(message, 'tracestate'))
  };
}

/**
 * Returns the number that the first gateway gave the record. With it, copies of the record can be recognized whoever
 * sends them.
 * @param {string | undefined} text
 * @returns {number} -1 = the device's next
 */
function seqOf(text) {
  const seq = text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : -1;
  return seq <= MAX_SEQ ? seq : -1;
}

/** @param {Message} message @param {ReadingOptions} options */
function deviceOf(message, { deviceFrom, device }) {
  if (deviceFrom === 'fixed') return device;
  const id = deviceFrom === 'key' ? textOf(message.key) : header(message, device);
  if (!id) {
    const where = deviceFrom === 'key' ? 'key' : `header "${device}"`;
    throw new RecordError(
      `A Kafka record of "${message.topic}" names no device: its ${where} is missing or empty.`
    );
  }
  if (Buffer.byteLength(id) > MAX_DEVICE_BYTES) {
    throw new RecordError(
      `A Kafka record of "${message.topic}" names a device id that exceeds ${MAX_DEVICE_BYTES} bytes.`
    );
  }
  return id;
}

/**
 * @param {Message} message
 * @param {string} name
 * @returns {string | undefined} the last header with the name
 */
function header({ headers }, name) {
  const found = headers.findLast(([key]) => key === name);
  return found ? textOf(found[1]) : undefined;
}

/** @param {Uint8Array | null} bytes */
function textOf(bytes) {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() : '';
}

module.exports = { toRecordArgs };
