'use strict';
// Converts a PUBLISH of another broker to a record, with its device and class.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const { classOf } = require('../../base/classes');
const { FLAG, RecordError } = require('../../base/record');
const { traceOf } = require('../../base/trace-context');

const NORMAL = 3;

/**
 * @typedef {object} ReadingOptions
 * @property {'level' | 'fixed' | 'property'} deviceFrom
 * @property {number} deviceLevel of the topic, from 1
 * @property {string} device the fixed id, or the name of the user property
 * @property {string} classProperty user property with the class, '' = none
 * @property {number} class without one, 0 = normal
 */

/**
 * @param {import('./packet-reader').Publish} packet
 * @param {ReadingOptions} options
 * @returns {import('../../base/record').RecordArgs}
 * @throws {RecordError}
 */
function toRecordArgs(packet, options) {
  const { topic, payload, qos, retain } = packet;
  const named = options.classProperty ? classOf(property(packet, options.classProperty) ?? '') : 0;
  return {
    deviceId: deviceOf(packet, options),
    topic,
    payload,
    cls: named || options.class || NORMAL,
    flags: (qos > 0 ? FLAG.QOS1 : 0) | (retain ? FLAG.RETAIN : 0),
    ts: 0,
    seq: -1,
    trace: traceOf(property(packet, 'traceparent'), property(packet, 'tracestate'))
  };
}

/** @param {import('./packet-reader').Publish} packet @param {ReadingOptions} options */
function deviceOf(packet, { deviceFrom, deviceLevel, device }) {
  if (deviceFrom === 'fixed') return device;
  const id = deviceFrom === 'level' ? packet.topic.split('/')[deviceLevel - 1] : property(packet, device);
  if (!id) {
    const where = deviceFrom === 'level' ? `level ${deviceLevel} of its topic` : `user property "${device}"`;
    throw new RecordError(`A message on "${packet.topic}" names no device: ${where} is missing or empty.`);
  }
  if (Buffer.byteLength(id) > MAX_DEVICE_BYTES) {
    throw new RecordError(
      `A message on "${packet.topic.slice(0, 100)}" names a device id that exceeds ${MAX_DEVICE_BYTES} bytes.`
    );
  }
  return id;
}

/**
 * @param {import('./packet-reader').Publish} packet
 * @param {string} name
 * @returns {string | undefined} the first property with the name
 */
function property({ userProperties }, name) {
  return userProperties.find(([key]) => key === name)?.[1];
}

module.exports = { toRecordArgs };
