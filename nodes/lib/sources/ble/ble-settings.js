'use strict';
// Checks the settings of a ble devices node.

const { parseGlobs } = require('./device-globs');
const { integer, choice, recordClass, text } = require('../../base/options');
const { checkTemplate } = require('../../base/templates');
const { asText, shown } = require('../../base/values');
const { normalUuid, parseUuids } = require('./uuid');

/**
 * @typedef {object} Row how a characteristic is used
 * @property {string} service normal form; '' = any
 * @property {string} characteristic normal form
 * @property {'notify' | 'read' | 'write'} mode write: commands may write it
 * @property {number} intervalS between two reads
 *
 * @typedef {object} BleSettings
 * @property {string} adapter '' = the system's first, hci0, or a serial port
 * @property {number} baudRate of a serial port
 * @property {string[]} services only devices that advertise one of them; empty = all
 * @property {string[]} match only devices whose name or address matches one of these globs; empty = all
 * @property {number} minRssi dBm
 * @property {'changed' | 'all' | 'off'} advertisements
 * @property {number} everyS shortest time between two advertisements of a device that become records
 * @property {string[]} connect globs of the devices to connect to
 * @property {number} maxConnections
 * @property {Row[]} rows
 * @property {number} rssiS how often the signal of connected devices is measured, 0 = never
 * @property {'json' | 'raw'} payload
 * @property {string} deviceId template
 * @property {string} topic template
 */

const MAX_ROWS = 64;
const NORMAL = 3;
const MODES = /** @type {const} */ (['notify', 'read', 'write']);
const DEVICE_WORDS = ['address', 'name'];
const TOPIC_WORDS = ['device', 'address', 'name', 'kind'];

/** Weaker than any received signal. */
const ANY_RSSI = -128;

const schema = {
  adapter: text(
    '',
    /^(hci\d{1,3}|\/[^\0]{1,255}|COM\d{1,3})$/,
    'hci0, or a serial port such as /dev/ttyUSB0'
  ),
  baudRate: integer(1200, 4000000, 1000000),
  services: (/** @type {unknown} */ value) => parseUuids(asText(value)),
  match: (/** @type {unknown} */ value) => parseGlobs(asText(value)),
  minRssi: integer(ANY_RSSI, 20, ANY_RSSI),
  advertisements: choice(/** @type {const} */ (['changed', 'all', 'off']), 'changed'),
  everyS: integer(0, 86400, 0),
  connect: (/** @type {unknown} */ value) => parseGlobs(asText(value)),
  maxConnections: integer(1, 20, 5),
  characteristics: (/** @type {unknown} */ value) => value,
  rssiS: integer(0, 86400, 0),
  payload: choice(/** @type {const} */ (['json', 'raw']), 'json'),
  deviceId: text('{address}'),
  topic: text('ble/{device}/{kind}'),
  class: recordClass(NORMAL)
};

const readInterval = integer(1, 86400, 60);

/**
 * @param {unknown} given
 * @param {number} index
 * @returns {Row}
 */
function parseRow(given, index) {
  const where = `Characteristic ${index + 1}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new RangeError(`${where} must be an object such as {"characteristic": "2a37", "mode": "notify"}.`);
  }
  const row = /** @type {Record<string, unknown>} */ (given);
  const characteristic = normalUuid(String(row.characteristic ?? ''));
  if (!characteristic) throw new RangeError(`${where} has no UUID: enter one such as 2a37.`);
  const named = String(row.service ?? '').trim();
  const service = normalUuid(named);
  if (named && !service)
    throw new RangeError(`${where}: its service "${shown(named)}" is not a UUID such as 180d.`);
  const mode = MODES.find((each) => each === row.mode);
  if (!mode)
    throw new RangeError(
      `${where} must have one of the modes ${MODES.join(', ')}, not "${shown(row.mode)}".`
    );
  let intervalS;
  try {
    intervalS = readInterval(row.intervalS);
  } catch (error) {
    throw new RangeError(`${where}: its interval ${/** @type {Error} */ (error).message}`, { cause: error });
  }
  return { service, characteristic, mode, intervalS };
}

/** @param {unknown} list @returns {Row[]} */
function parseRows(list) {
  const rows = list ?? [];
  if (!Array.isArray(rows)) throw new RangeError('The characteristics must be a list.');
  if (rows.length > MAX_ROWS) {
    throw new RangeError(`There are ${rows.length} characteristics; at most ${MAX_ROWS} are allowed.`);
  }
  return rows.map(parseRow);
}

/**
 * @param {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} values
 * @returns {BleSettings}
 * @throws {RangeError} with a sentence
 */
function toSettings({ characteristics, class: _class, ...values }) {
  checkTemplate('deviceId', values.deviceId, DEVICE_WORDS);
  checkTemplate('topic', values.topic, TOPIC_WORDS);
  const rows = parseRows(characteristics);
  if (values.connect.length > 0 && rows.length === 0 && values.rssiS === 0) {
    throw new RangeError('The node connects to devices, but no characteristic is listed. Add one.');
  }
  if (values.connect.length === 0 && values.advertisements === 'off') {
    throw new RangeError('The node reads nothing: turn on advertisements, or enter devices to connect to.');
  }
  return { ...values, rows };
}

module.exports = { schema, toSettings, ANY_RSSI };
