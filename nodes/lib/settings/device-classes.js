'use strict';
// Checks the registered devices of an mqtt devices node, which assign classes to devices, from its list or from JSON
// text.

const { CLASS_WORDS } = require('../base/classes');
const { isBlank } = require('../base/options');
const { toClass } = require('../base/record');

/** @typedef {{ device: string, class: number }} DeviceClass */

const MAX_DEVICES = 1000;
const MAX_PATTERN_BYTES = 256;
const EXAMPLE = '{"device": "pump-*", "class": 2}';

/**
 * @param {unknown} given
 * @param {number} index
 * @returns {DeviceClass}
 */
function parseDevice(given, index) {
  const where = `Registered device ${index + 1}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new RangeError(`${where} must be an object such as ${EXAMPLE}.`);
  }
  const { device, class: named } = /** @type {Record<string, unknown>} */ (given);
  if (typeof device !== 'string' || device.trim() === '') {
    throw new RangeError(`${where} has no device: enter its id, or a pattern with * and ?.`);
  }
  const pattern = device.trim();
  if (Buffer.byteLength(pattern) > MAX_PATTERN_BYTES || pattern.includes('\0')) {
    throw new RangeError(`${where}: the pattern exceeds ${MAX_PATTERN_BYTES} bytes or contains NUL.`);
  }
  let cls;
  try {
    cls = toClass(named, 0);
  } catch (error) {
    throw new RangeError(`${where}: ${/** @type {Error} */ (error).message}`, { cause: error });
  }
  if (!cls) throw new RangeError(`${where} has no class: use ${CLASS_WORDS}.`);
  return { device: pattern, class: cls };
}

/**
 * @param {unknown} list of the dialog
 * @param {unknown} json the same as JSON text (an array); overrides the list if it is not blank
 * @returns {DeviceClass[]}
 * @throws {RangeError} with a sentence
 */
function parseDevices(list, json) {
  let devices = isBlank(json) ? (list ?? []) : json;
  if (typeof devices === 'string') {
    try {
      devices = JSON.parse(devices);
    } catch (error) {
      const reason = /** @type {Error} */ (error).message;
      throw new RangeError(`The registered devices are not valid JSON (${reason}).`, { cause: error });
    }
  }
  if (!Array.isArray(devices)) {
    throw new RangeError(`The registered devices must be a JSON array: [${EXAMPLE}].`);
  }
  if (devices.length > MAX_DEVICES) {
    throw new RangeError(
      `There are ${devices.length} registered devices; at most ${MAX_DEVICES} are allowed. Use patterns with *.`
    );
  }
  return devices.map(parseDevice);
}

module.exports = { parseDevices };
