'use strict';
// The settings of backups and snapshots: backup.json in the folder of the tenants. Without it the standards are used.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { page } = require('../../../../nodes/lib/base/texts/page');
const { KEEP } = require('./backups');

const MAX_BYTES = 1 << 20;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;
const MOST_TIMES = 96;

/**
 * @typedef {object} Settings
 * @property {string[]} at times of the day for backups, local; [] = only by command
 * @property {number} jitterMinutes a tenant's backup begins up to this time later, always by the same time
 * @property {{ daily: number, weekly: number }} keep
 * @property {string} to folder of the backups
 * @property {string} passphraseFile '' = none
 * @property {string[]} recipients for age; with neither, backups are not encrypted
 * @property {string[]} hook command after each backup; [] = none
 * @property {string[]} without tenants that are not saved at night
 * @property {{ at: string[], gateway: string, tokenFile: string, to: string, keep: number }} snapshots gateway: URL
 *   of the
 *   admin API
 */

/** @param {string} folder of the tenants @param {string} [to] folder of the backups @returns {Settings} */
const standards = (folder, to = path.join(folder, 'backups')) => ({
  at: ['02:00'],
  jitterMinutes: 60,
  keep: { ...KEEP },
  to,
  passphraseFile: '',
  recipients: [],
  hook: [],
  without: [],
  snapshots: {
    at: [],
    gateway: 'http://127.0.0.1:1880',
    tokenFile: '',
    to: path.join(folder, 'snapshots'),
    keep: 500
  }
});

/** @param {string} message @returns {never} */
function refuse(message) {
  throw new CliError(`${message} See ${page('use/tenants-backup.md')}`, EXIT.CONFIG);
}

/** @typedef {(value: unknown, where: string) => any} Check */

/** @type {(min: number, max: number) => Check} */
const whole = (min, max) => (value, where) =>
  Number.isInteger(value) && /** @type {number} */ (value) >= min && /** @type {number} */ (value) <= max
    ? value
    : refuse(`${where} must be a whole number from ${min} to ${max}.`);

/** @type {Check} */
const text = (value, where) =>
  typeof value === 'string' && value.length <= 4096 && !value.includes('\0')
    ? value
    : refuse(`${where} must be a text of at most 4096 characters.`);

/** @type {Check} */
const file = (value, where) => {
  const name = text(value, where);
  return name === '' || path.isAbsolute(name) ? name : refuse(`${where} must be an absolute path.`);
};

/** @type {Check} */
const folder = (value, where) => file(value, where) || refuse(`${where} must be an absolute path.`);

/** @type {(check: Check, most: number) => Check} */
const list = (check, most) => (value, where) =>
  Array.isArray(value) && value.length <= most
    ? value.map((each, i) => check(each, `${where}[${i}]`))
    : refuse(`${where} must be a list of at most ${most} entries.`);

/** @type {Check} */
const time = (value, where) =>
  typeof value === 'string' && TIME.test(value) ? value : refuse(`${where} must be a time such as 02:00.`);

/** @type {Check} */
const url = (value, where) => {
  const parsed = URL.parse(text(value, where));
  const isHttp =
    parsed && ['http:', 'https:'].includes(parsed.protocol) && !parsed.username && !parsed.search;
  return isHttp
    ? parsed.href.replace(/\/$/, '')
    : refuse(`${where} must be a URL such as http://127.0.0.1:1880.`);
};

/** @type {Check} */
const recipient = (value, where) =>
  /^(age1|ssh-)/.test(text(value, where)) ? value : refuse(`${where} must begin with age1 or ssh-.`);

/** @type {(checks: Record<string, Check>) => Check} */
const object = (checks) => (value, where) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse(`${where} must be an object.`);
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(checks, key));
  if (unknown !== undefined) {
    refuse(
      `${where} has the unknown key '${unknown.slice(0, 64)}'. Known keys: ${Object.keys(checks).join(', ')}.`
    );
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, checks[key](each, `${where}.${key}`)])
  );
};

const check = object({
  version: (value, where) => (value === 1 ? value : refuse(`${where} must be 1.`)),
  at: list(time, MOST_TIMES),
  jitterMinutes: whole(0, 720),
  keep: object({ daily: whole(1, 3660), weekly: whole(0, 520) }),
  to: folder,
  passphraseFile: file,
  recipients: list(recipient, 20),
  hook: list(text, 64),
  without: list(text, 1000),
  snapshots: object({
    at: list(time, MOST_TIMES),
    gateway: url,
    tokenFile: file,
    to: folder,
    keep: whole(1, 100_000)
  })
});

/**
 * @param {string} home folder of the tenants
 * @param {string} [to] folder of the backups, unless the file names one
 * @returns {Settings}
 * @throws {CliError} exit code 78
 */
function readSettings(home, to) {
  const name = path.join(home, 'backup.json');
  const blank = standards(home, to);
  /** @type {any} */
  let value;
  try {
    if (!fs.existsSync(name)) return blank;
    if (fs.statSync(name).size > MAX_BYTES) throw new Error(`it exceeds ${MAX_BYTES >> 20} MiB`);
    value = JSON.parse(fs.readFileSync(name, 'utf8'));
  } catch (error) {
    return refuse(`${name} cannot be read: ${messageOf(error)}.`);
  }
  if (value?.version === undefined) refuse(`${name}: version is missing; it must be 1.`);
  const { keep, snapshots, ...rest } = check(value, name);
  delete rest.version;
  return {
    ...blank,
    ...rest,
    keep: { ...blank.keep, ...keep },
    snapshots: { ...blank.snapshots, ...snapshots }
  };
}

/**
 * Reads a passphrase: the first line of a file.
 * @param {string} name '' = none
 * @returns {string}
 * @throws {CliError}
 */
function readPassphrase(name) {
  if (!name) return '';
  try {
    if (fs.statSync(name).size > 4096) throw new Error('it has more than 4096 bytes');
    const [line] = fs.readFileSync(name, 'utf8').split(/\r?\n/);
    if (line === '') throw new Error('its first line is empty');
    return line;
  } catch (error) {
    throw new CliError(`The passphrase cannot be read from ${name}: ${messageOf(error)}.`, EXIT.CONFIG);
  }
}

module.exports = { readPassphrase, readSettings };
