'use strict';
// Checks the permissions of a device node, which list the topics that a device may publish and subscribe to, from its
// list or from JSON text.

const { isBlank } = require('../base/options');
const { filterProblem } = require('./rules');
const { shown } = require('../base/values');

/** @typedef {{ device: string, publish: string[], subscribe: string[] }} Permission */

const MAX_ROWS = 1024;
const MAX_FILTERS = 64;
const MAX_PATTERN_BYTES = 256;
const EXAMPLE = '{"device": "pump-*", "publish": ["d/#"], "subscribe": ["cmd/#"]}';

/**
 * @param {unknown} list of the dialog
 * @param {unknown} json the same as JSON text (an array); overrides the list if it is not blank
 * @returns {Permission[]} the first row whose device matches applies; no rows: everything is allowed
 * @throws {RangeError} with a sentence
 */
function parsePermissions(list, json) {
  let rows = isBlank(json) ? (list ?? []) : json;
  if (typeof rows === 'string') {
    try {
      rows = JSON.parse(rows);
    } catch (error) {
      const reason = /** @type {Error} */ (error).message;
      throw new RangeError(`The permissions are not valid JSON (${reason}).`, { cause: error });
    }
  }
  if (!Array.isArray(rows)) throw new RangeError(`The permissions must be a JSON array: [${EXAMPLE}].`);
  if (rows.length > MAX_ROWS) {
    throw new RangeError(
      `There are ${rows.length} permissions; at most ${MAX_ROWS} are allowed. Use patterns with *.`
    );
  }
  return rows.map(parseRow);
}

/**
 * @param {unknown} given
 * @param {number} index
 * @returns {Permission}
 */
function parseRow(given, index) {
  const where = `Permission ${index + 1}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new RangeError(`${where} must be an object such as ${EXAMPLE}.`);
  }
  const { device, publish, subscribe } = /** @type {Record<string, unknown>} */ (given);
  if (typeof device !== 'string' || device.trim() === '') {
    throw new RangeError(`${where} has no device: enter its id, or a pattern with * and ?.`);
  }
  const pattern = device.trim();
  if (Buffer.byteLength(pattern) > MAX_PATTERN_BYTES || pattern.includes('\0')) {
    throw new RangeError(`${where}: the pattern exceeds ${MAX_PATTERN_BYTES} bytes or contains NUL.`);
  }
  return {
    device: pattern,
    publish: parseFilters(publish, `${where}, publish`),
    subscribe: parseFilters(subscribe, `${where}, subscribe`)
  };
}

/**
 * @param {unknown} given a list, or text with filters separated by spaces or commas
 * @param {string} where
 * @returns {string[]}
 */
function parseFilters(given, where) {
  const filters = typeof given === 'string' ? given.split(/[\s,]+/).filter(Boolean) : (given ?? []);
  if (!Array.isArray(filters) || filters.some((each) => typeof each !== 'string' || each === '')) {
    throw new RangeError(`${where}: topic filters must be text, such as d/# or cmd/+/set.`);
  }
  if (filters.length > MAX_FILTERS)
    throw new RangeError(`${where}: there are more than ${MAX_FILTERS} topic filters.`);
  for (const filter of filters) {
    const problem = filterProblem(filter);
    if (problem) throw new RangeError(`${where}: the topic filter "${shown(filter)}" ${problem}.`);
  }
  return filters;
}

/**
 * Returns a check for records that do not arrive on a socket of the engine. The engine checks its own sockets.
 * @param {Permission[]} permissions not empty
 * @returns {(device: string, topic: string) => boolean} true if the device may publish to the topic
 */
function publishRule(permissions) {
  // Loaded here, so that settings can be checked without the addon.
  const { Permissions } = require('../../../native');
  const rules = new Permissions(permissions);
  return (device, topic) => rules.mayPublish(device, topic);
}

module.exports = { parsePermissions, publishRule };
