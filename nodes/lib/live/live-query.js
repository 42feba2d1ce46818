'use strict';
// The query of a viewer: which engine, and which page of its devices.

const SHOWS = /** @type {const} */ (['devices', 'on', 'users']);
const TENANTS = /** @type {const} */ (['all', 'awake', 'asleep', 'trouble']);
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
 * @typedef {object} CloudQuery which page of an OCF cloud
 * @property {string} node id of the cloud, '' = the first
 * @property {typeof SHOWS[number]} show all devices, those that are signed in, or users
 * @property {string} q '' = all
 * @property {number} page from 1
 * @property {number} size rows of a page, 1..100
 *
 * @typedef {object} TenantQuery which page of the tenants
 * @property {typeof TENANTS[number]} show
 * @property {string} q searched in the name and the driver, in lower case; '' = all
 * @property {string} chosen name of a tenant that is added to the page, '' = none
 * @property {number} page from 1; above the last page = the last page
 * @property {number} size rows of a page, 1..100
 *
 * @typedef {{ engine: string, devices: DeviceQuery | null, cloud: CloudQuery | null, tenants: TenantQuery | null }}
 *   LiveQuery engine: id, '' = the first; devices, cloud, tenants: null = none
 */

/**
 * @param {Record<string, unknown>} given query of the request
 * @returns {LiveQuery}
 * @throws {RangeError} with a sentence
 */
function parseLiveQuery(given) {
  const engine = text(given, 'engine', 64);
  const hasDevices = isOn(given, 'devices', 'on');
  const q = text(given, 'q', MAX_SEARCH).toLowerCase();
  const sortText = text(given, 'sort', 32) || 'device';
  const descending = sortText.startsWith('-');
  const sort = /** @type {Sort} */ (descending ? sortText.slice(1) : sortText);
  if (!SORTS.includes(sort))
    throw new RangeError(`sort must be one of ${SORTS.join(', ')}, with - in front for descending.`);
  const page = whole(given, 'page', 1, MAX_PAGE);
  const size = whole(given, 'size', DEFAULT_SIZE, MAX_SIZE);
  return {
    engine,
    devices: hasDevices ? { q, sort, descending, page, size } : null,
    cloud: isOn(given, 'ocf', 'off') ? cloudQuery(given) : null,
    tenants: isOn(given, 'tenants', 'off') ? tenantQuery(given) : null
  };
}

/** @param {Record<string, unknown>} given @returns {CloudQuery} @throws {RangeError} */
function cloudQuery(given) {
  const node = text(given, 'ocfNode', 64);
  const show = /** @type {CloudQuery['show']} */ (text(given, 'ocfShow', 16) || 'devices');
  if (!SHOWS.includes(show)) throw new RangeError(`ocfShow must be one of ${SHOWS.join(', ')}.`);
  const q = text(given, 'ocfQ', MAX_SEARCH);
  const page = whole(given, 'ocfPage', 1, MAX_PAGE);
  return { node, show, q, page, size: whole(given, 'size', DEFAULT_SIZE, MAX_SIZE) };
}

/** @param {Record<string, unknown>} given @returns {TenantQuery} @throws {RangeError} */
function tenantQuery(given) {
  const show = /** @type {TenantQuery['show']} */ (text(given, 'tenantsShow', 16) || 'all');
  if (!TENANTS.includes(show)) throw new RangeError(`tenantsShow must be one of ${TENANTS.join(', ')}.`);
  return {
    show,
    q: text(given, 'tenantsQ', MAX_SEARCH).toLowerCase(),
    chosen: text(given, 'tenant', 64),
    page: whole(given, 'tenantsPage', 1, MAX_PAGE),
    size: whole(given, 'size', DEFAULT_SIZE, MAX_SIZE)
  };
}

/** @param {Record<string, unknown>} given @param {string} name @param {'on' | 'off'} blank */
function isOn(given, name, blank) {
  const value = text(given, name, 16) || blank;
  if (value !== 'on' && value !== 'off') throw new RangeError(`${name} must be on or off.`);
  return value === 'on';
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
