'use strict';
// The query of a viewer: which engine, and which page of its devices.

const SORTS = /** @type {const} */ ([
  'device',
  'protocol',
  'worker',
  'class',
  'rate',
  'records',
  'seen',
  'node'
]);
const MAX_SEARCH = 256;
const MAX_PAGE = 100000;
const MAX_SIZE = 100;
const DEFAULT_SIZE = 25;

/**
 * @typedef {typeof SORTS[number]} Sort
 * @typedef {object} DeviceQuery
 * @property {string} q searched in the id, the node and the protocol, in lower case; '' = all devices
 * @property {Sort} sort
 * @property {boolean} descending
 * @property {number} page from 1; above the last page = the last page
 * @property {number} size rows of a page, 1..100
 *
 * @typedef {{ engine: string, devices: DeviceQuery | null }} LiveQuery engine: id, '' = the first; devices: null = none
 */

/**
 * @param {Record<string, unknown>} given query of the request
 * @returns {LiveQuery}
 * @throws {RangeError} with a sentence
 */
function parseLiveQuery(given) {
  const engine = text(given, 'engine', 64);
  const devices = text(given, 'devices', 16) || 'on';
  if (devices !== 'on' && devices !== 'off') throw new RangeError('devices must be on or off.');
  const q = text(given, 'q', MAX_SEARCH).toLowerCase();
  const sortText = text(given, 'sort', 32) || 'device';
  const descending = sortText.startsWith('-');
  const sort = /** @type {Sort} */ (descending ? sortText.slice(1) : sortText);
  if (!SORTS.includes(sort))
    throw new RangeError(`sort must be one of ${SORTS.join(', ')}, with - in front for descending.`);
  const page = whole(given, 'page', 1, MAX_PAGE);
  const size = whole(given, 'size', DEFAULT_SIZE, MAX_SIZE);
  return { engine, devices: devices === 'on' ? { q, sort, descending, page, size } : null };
}

/**
 * @param {Record<string, unknown>} given
 * @param {string} name
 * @param {number} max characters
 */
function text(given, name, max) {
  const value = given[name] ?? '';
  if (typeof value !== 'string' || value.length > max)
    throw new RangeError(`${name} must be a text of at most ${max} characters.`);
  return value;
}

/**
 * @param {Record<string, unknown>} given
 * @param {string} name
 * @param {number} blank
 * @param {number} max
 */
function whole(given, name, blank, max) {
  const value = text(given, name, 6) || String(blank);
  const number = /^\d+$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > max) throw new RangeError(`${name} must be a number from 1 to ${max}.`);
  return number;
}

module.exports = { parseLiveQuery };
