'use strict';
// Checks the fields of a record in a request.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const { CLASS_WORDS, classOf } = require('../../base/classes');
const { HttpRefusal } = require('./http-refusal');

const MAX_TOPIC_BYTES = 65535;
/** The latest time of a Date. */
const MAX_TIME_MS = 8.64e15;

/** @param {unknown} value */
function toDevice(value) {
  if (typeof value !== 'string' || value === '') throw new HttpRefusal(400, 'The device id is missing.');
  if (Buffer.byteLength(value) > MAX_DEVICE_BYTES || value.includes('\0')) {
    throw new HttpRefusal(400, `The device id exceeds ${MAX_DEVICE_BYTES} bytes or contains NUL.`);
  }
  return value;
}

/** [MQTT-3.3.2-2] @param {unknown} value */
function toTopic(value) {
  if (typeof value !== 'string') throw new HttpRefusal(400, 'The topic must be text.');
  if (Buffer.byteLength(value) > MAX_TOPIC_BYTES || /[+#\0]/.test(value)) {
    throw new HttpRefusal(400, `The topic exceeds ${MAX_TOPIC_BYTES} bytes or contains +, # or NUL.`);
  }
  return value;
}

/** @param {unknown} value @returns {number} 0 = not given */
function toClassOrRefuse(value) {
  if (value === undefined || value === null || value === '') return 0;
  const cls = typeof value === 'object' ? 0 : classOf(value);
  if (!cls) throw new HttpRefusal(400, `The class must be ${CLASS_WORDS}.`);
  return cls;
}

/** @param {unknown} value @returns {number} 0 = now */
function toTime(value) {
  if (value === undefined || value === null) return 0;
  if (!Number.isInteger(value) || Number(value) <= 0 || Number(value) > MAX_TIME_MS) {
    throw new HttpRefusal(400, 'The time "ts" must be a whole number of milliseconds since 1970.');
  }
  return Number(value);
}

module.exports = { toDevice, toTopic, toClassOrRefuse, toTime };
