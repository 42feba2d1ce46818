'use strict';
// Reads the text of the tenants file, which the keeper (seganet-tenants) writes. The keeper has a reader of its own.
// Both accept the same files (test/fixtures/tenants/files.js).

const { shown } = require('../../base/values');

const VERSION = 1;
/** Each tenant is two stages of a plan. */
const MAX_TENANTS = 1000;
const MAX_FILE_BYTES = 4 << 20;
const NAME = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
const IMAGE = /^([a-z0-9][A-Za-z0-9._:/-]{0,400}@)?sha256:[0-9a-f]{64}$/;
const DRIVERS = ['process', 'docker', 'podman', 'kubernetes'];
const CONTAINERS = ['docker', 'podman'];
const MAX_MS = 7 * 86400000;
const MAX_WORD = 4096;
const MAX_WORDS = 64;
/** Values of keys that are missing. */
const PORT = 1883;
const WAITING_MIB = 64;

/**
 * @typedef {object} Limits
 * @property {number} [memoryMiB]
 * @property {number} [cpus]
 * @property {number} [pids]
 * @property {number} [files] open files of each process
 * @property {number} [volumeMiB]
 * @property {number} [writeMiBps] MiB a second that it writes to its disk, 0 = no limit
 * @property {number} [rate] records per second, 0 = no limit
 * @property {number} [waitingMiB] of its records that wait
 *
 * @typedef {object} Tenant
 * @property {string} name
 * @property {string} driver
 * @property {string} [image]
 * @property {string[]} [command]
 * @property {number} [port] of its MQTT listener, 0 = none
 * @property {Limits} [limits]
 * @property {number} [idleMs]
 * @property {number} [stopMs]
 * @property {boolean} [warm]
 * @property {boolean} [always]
 * @property {number} [http] port of its web pages
 * @property {number} [tcp] port of its TCP service
 */

/** Returns why a value is invalid, completing "key …"; '' = it is valid. @typedef {(value: unknown) => string} Check */

/** @param {number} min @param {number} max @returns {Check} */
const whole = (min, max) => (value) =>
  Number.isInteger(value) && Number(value) >= min && Number(value) <= max
    ? ''
    : `must be a whole number from ${min} to ${max}`;

/** @param {number} min @param {number} max @returns {Check} */
const number = (min, max) => (value) =>
  typeof value === 'number' && value >= min && value <= max ? '' : `must be a number from ${min} to ${max}`;

/** @type {Check} */
const flag = (value) => (typeof value === 'boolean' ? '' : 'must be true or false');

/** @param {unknown} word */
const isWord = (word) => typeof word === 'string' && word.length <= MAX_WORD && !word.includes('\0');

/** @type {Check} */
const command = (value) =>
  Array.isArray(value) && value.length <= MAX_WORDS && value.every(isWord) && Boolean(value[0])
    ? ''
    : `must be a list of 1 to ${MAX_WORDS} texts that begins with a program`;

/** @type {Record<string, Check>} */
const LIMITS = {
  memoryMiB: whole(16, 1 << 20),
  cpus: number(0.05, 256),
  pids: whole(8, 32768),
  files: whole(64, 65536),
  volumeMiB: whole(1, 1 << 24),
  writeMiBps: whole(0, 1 << 20),
  rate: whole(0, 1000000),
  waitingMiB: whole(1, 65536)
};

/** @type {Record<string, Check>} */
const TENANT = {
  name: (value) =>
    typeof value === 'string' && NAME.test(value)
      ? ''
      : 'must be 1 to 32 lower-case letters, digits and inner hyphens',
  driver: (value) => (DRIVERS.includes(String(value)) ? '' : `must be one of ${DRIVERS.join(', ')}`),
  image: (value) =>
    typeof value === 'string' && IMAGE.test(value) ? '' : 'must name an image by its digest, NAME@sha256:…',
  command,
  port: whole(0, 65535),
  limits: (value) => problemOf(value, LIMITS, 'limits.'),
  idleMs: whole(100, MAX_MS),
  stopMs: whole(100, MAX_MS),
  warm: flag,
  always: flag,
  http: whole(1, 65535),
  tcp: whole(0, 65535)
};

/**
 * @param {unknown} value
 * @param {Record<string, Check>} checks
 * @param {string} [prefix] of keys in sentences
 * @returns {string} why the value is no object with these keys, '' = it is
 */
function problemOf(value, checks, prefix = '') {
  if (!isObject(value)) return 'must be an object';
  for (const [key, member] of Object.entries(value)) {
    if (!Object.hasOwn(checks, key)) return `has the unknown key "${shown(prefix + key)}"`;
    const problem = checks[key](member);
    // The problem of an inner object names its key already.
    if (problem)
      return problem.startsWith('has the ') ? problem : `has the key "${prefix}${key}", which ${problem}`;
  }
  return '';
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads the text of the file.
 * @param {string | Buffer} content
 * @returns {Tenant[]} in the order of the file
 * @throws {RangeError} with a sentence
 */
function parseTenants(content) {
  if (content.length > MAX_FILE_BYTES) throw new RangeError(`The file exceeds ${MAX_FILE_BYTES >> 20} MiB.`);
  let file;
  try {
    file = JSON.parse(content.toString());
  } catch (error) {
    throw new RangeError(`The file is not JSON (${/** @type {Error} */ (error).message}).`, { cause: error });
  }
  if (!isObject(file)) throw new RangeError('The file must be an object with "version" and "tenants".');
  const { version, tenants, ...rest } = file;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new RangeError(`The file has the unknown key "${shown(unknown)}".`);
  if (version !== VERSION)
    throw new RangeError(
      `The file has version ${shown(JSON.stringify(version) ?? 'none')}; this gateway reads version ${VERSION}. Use a keeper of the same release.`
    );
  if (!Array.isArray(tenants)) throw new RangeError('"tenants" must be a list.');
  if (tenants.length > MAX_TENANTS)
    throw new RangeError(`The file has ${tenants.length} tenants; at most ${MAX_TENANTS} are allowed.`);
  const names = new Set();
  for (const [index, tenant] of tenants.entries()) {
    const problem = problemOf(tenant, TENANT) || problemOfAll(tenant);
    if (problem) throw new RangeError(`Tenant ${index + 1}${named(tenant)} ${problem}.`);
    if (names.has(tenant.name))
      throw new RangeError(`Tenant ${index + 1} repeats the name "${tenant.name}".`);
    names.add(tenant.name);
  }
  return tenants;
}

/**
 * Returns why the keys of a tenant do not belong together, '' = they do.
 * @param {Tenant} tenant whose keys are valid
 */
function problemOfAll({ name, driver, image, port = PORT, http = 0, tcp = 0 }) {
  if (name === undefined) return 'has no name';
  if (driver === undefined) return 'has no driver';
  if (CONTAINERS.includes(driver) && image === undefined) return 'has no image';
  if (driver === 'process' && image !== undefined)
    return 'has the key "image", which the driver process does not use';
  if (port === 0 && http === 0 && tcp === 0) return 'has neither a port of MQTT nor the key "http" or "tcp"';
  if (http !== 0 && port === http) return 'has the key "http", which must differ from "port"';
  if (tcp !== 0 && tcp === port) return 'has the key "tcp", which must differ from "port"';
  return tcp !== 0 && tcp === http ? 'has the key "tcp", which must differ from "http"' : '';
}

/** @param {any} tenant */
function named(tenant) {
  return typeof tenant?.name === 'string' ? ` (${shown(tenant.name)})` : '';
}

module.exports = { parseTenants, MAX_FILE_BYTES, MAX_TENANTS, NAME, PORT, WAITING_MIB };
