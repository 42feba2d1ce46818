'use strict';
// The state file of apply: changes that our numbers do not identify, and the last known paths. There is one for each
// network namespace. Its content is validated like any other input.

const fs = require('node:fs');
const path = require('node:path');
const folder = require('../../base/cli/state-folder');
const { EXIT, CliError } = require('../common/network-error');
const { SLOTS } = require('./path-numbers');
const { DESIRED } = require('./sysctls');

/** @typedef {import('./path-selection').Known} Known */
/** @typedef {{ before: number, was?: number, made: number }} Change was: the value when it was last made */
/**
 * subflows: the limit.
 * @typedef {object} State
 * @property {1} version
 * @property {Known[]} known
 * @property {Change | null} subflows
 * @property {Record<string, Change>} sysctls
 */

const SYSTEM_FOLDER = '/run/seganet-paths';

/**
 * Returns the system's folder, which the gateway reads, too; or the user's own if the system's does not exist.
 * @param {NodeJS.ProcessEnv} [env]
 */
function defaultDirectory(env = process.env) {
  const own = env.XDG_RUNTIME_DIR;
  return process.geteuid?.() === 0 || !own || fs.existsSync(SYSTEM_FOLDER)
    ? SYSTEM_FOLDER
    : path.join(own, 'seganet-paths');
}

/** Returns the network namespace of this process: namespaces share nothing. @returns {string} */
function namespace() {
  try {
    return /\[(\d+)\]/.exec(fs.readlinkSync('/proc/self/ns/net'))?.[1] ?? '0';
  } catch {
    return '0';
  }
}

/** @param {string} directory @param {'state' | 'status' | 'lock'} kind */
const fileOf = (directory, kind) => path.join(directory, `${kind}-${namespace()}.json`);

/**
 * Returns the socket on which the watch receives hints about paths that confirm nothing.
 * @param {string} [directory]
 */
const hintSocket = (directory = defaultDirectory()) => path.join(directory, `hint-${namespace()}.sock`);

/** @param {unknown} value */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32;

/** @param {any} change */
const isChange = (change) =>
  isCount(change?.before) && isCount(change?.made) && (change.was === undefined || isCount(change.was));

/** @param {any} known */
const isKnown = (known) =>
  SLOTS.includes(known?.slot) &&
  [known.name, known.interface, known.gateway].every((text) => typeof text === 'string' && text.length < 64);

/** @param {any} value @returns {value is State} */
function isState(value) {
  const sysctls = value?.sysctls;
  return (
    value?.version === 1 &&
    Array.isArray(value.known) &&
    value.known.every(isKnown) &&
    (value.subflows === null || isChange(value.subflows)) &&
    sysctls !== null &&
    typeof sysctls === 'object' &&
    Object.entries(sysctls).every(
      ([name, change]) => DESIRED.some((desired) => desired.name === name) && isChange(change)
    )
  );
}

/** @param {string} directory @returns {State | null} null = apply did not run, or its file is gone */
function readState(directory) {
  const file = fileOf(directory, 'state');
  let text;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null;
    throw new CliError(`${file} cannot be read: ${message}`, EXIT.CANNOT);
  }
  try {
    const value = JSON.parse(text);
    if (isState(value)) return value;
  } catch {
    // Reported below.
  }
  throw new CliError(
    `${file} was not written by 'seganet-paths apply'. Remove it; 'seganet-paths undo' works without it, except for kernel settings.`,
    EXIT.CANNOT
  );
}

/** @param {string} directory @param {State} state */
function writeState(directory, state) {
  folder.writeWhole(fileOf(directory, 'state'), `${JSON.stringify(state, null, 2)}\n`);
}

/** @param {string} directory */
const removeState = (directory) => fs.rmSync(fileOf(directory, 'state'), { force: true });

/**
 * Runs `body` under the lock of this network namespace. Creates the folder.
 * @template T
 * @param {string} directory
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
function locked(directory, body) {
  folder.makeDirectory(directory, 'seganet-paths');
  const busy = (/** @type {number} */ owner) =>
    `Another seganet-paths (process ${owner}) is running in this network namespace. If it is 'watch', stop it first.`;
  return folder.locked(fileOf(directory, 'lock'), busy, body);
}

module.exports = {
  defaultDirectory,
  fileOf,
  hintSocket,
  namespace,
  readState,
  writeState,
  removeState,
  locked
};
