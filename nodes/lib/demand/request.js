'use strict';
// Checks a question, whether it came over HTTP or as a message.

const { MAX_DEVICE_BYTES } = require('../base/device-id');
const { shown } = require('../base/values');

const MAX_NAME = 128;
/** Above the limits of every node. */
const MAX_EVERY_MS = 86_400_000;

/** Why a question is not accepted, a sentence. */
class Refusal extends Error {
  /** @param {400 | 404 | 409 | 429 | 503} status of HTTP @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @typedef {{ device: string, by: string, everyMs: number, forS: number }} Question forS 0 = the asker's question ends */

/**
 * @param {unknown} given
 * @param {string} by who asks, if the question names nobody
 * @returns {Question}
 * @throws {Refusal}
 */
function readQuestion(given, by) {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Refusal(
      400,
      'The question must be an object such as {"device":"pump-1","everyMs":100,"forS":60}.'
    );
  const { device, everyMs, forS, by: named = by } = /** @type {Record<string, unknown>} */ (given);
  const isEnd = forS === 0;
  return {
    device: readDevice(device),
    by: readName(named),
    everyMs: isEnd ? 0 : wholeNumber('everyMs', everyMs, MAX_EVERY_MS),
    forS: isEnd ? 0 : wholeNumber('forS', forS, MAX_EVERY_MS / 1000)
  };
}

/** @param {unknown} device @returns {string} @throws {Refusal} */
function readDevice(device) {
  const isId =
    typeof device === 'string' &&
    device !== '' &&
    !/[\0+#]/.test(device) &&
    Buffer.byteLength(device) <= MAX_DEVICE_BYTES;
  if (isId) return device;
  throw new Refusal(
    400,
    `device must be a device id of 1 to ${MAX_DEVICE_BYTES} bytes, without +, # and NUL.`
  );
}

/** @param {unknown} name @returns {string} @throws {Refusal} */
function readName(name) {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME && !/\p{Cc}/u.test(name))
    return name;
  throw new Refusal(400, `by must be a name of 1 to ${MAX_NAME} characters.`);
}

/** @param {string} name @param {unknown} value @param {number} max */
function wholeNumber(name, value, max) {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max) return Number(value);
  throw new Refusal(400, `${name} must be a whole number from 1 to ${max}, not "${shown(value)}".`);
}

module.exports = { Refusal, readDevice, readName, readQuestion };
