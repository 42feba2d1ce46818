'use strict';
// The state file of apply: what it did, and the state before that. There is one for each interface, which check and
// undo read. Its content is validated like any other input; no part of it is run as it is.

const fs = require('node:fs');
const path = require('node:path');
const { locked: lockedBy, makeDirectory: makeFolder, writeWhole } = require('../../base/cli/state-folder');
const { checkInterface, checkShare, checkScheme } = require('./qdisc-options');
const { EXIT, CliError } = require('../common/network-error');

/** @typedef {{ scheme: string, rate: number, share: number }} Made */
/** @typedef {{ txqueuelen: number, gsoMaxSegs: number }} LinkSettings */
/** limit: of pfifo and bfifo. @typedef {LinkSettings & { kind: string, handle: string, limit: number }} Before */
/**
 * @typedef {object} State
 * @property {1} version
 * @property {string} interface
 * @property {number} index a new interface of the same name has another index
 * @property {'applying' | 'applied'} status applying: apply was killed while it ran
 * @property {Made} made
 * @property {Before} before
 * @property {LinkSettings} link as apply left the settings
 * @property {string[]} fingerprint
 */

const DEFAULT_DIRECTORY = '/run/seganet-net';

/** @param {string} directory @param {string} name */
const fileOf = (directory, name) => path.join(directory, `${name}.json`);

/** @param {unknown} value */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

/**
 * @param {any} value
 * @param {string} name
 * @returns {State | null}
 */
function toState(value, name) {
  const { made, before, link } = value ?? {};
  const isSound =
    value?.version === 1 &&
    value.interface === name &&
    isCount(value.index) &&
    ['applying', 'applied'].includes(value.status) &&
    isCount(made?.rate) &&
    typeof made.scheme === 'string' &&
    typeof made.share === 'number' &&
    typeof before?.kind === 'string' &&
    /^[a-z_]{1,16}$/.test(before.kind) &&
    /^[0-9a-f]{0,4}:$/.test(before.handle) &&
    [before.limit, before.txqueuelen, before.gsoMaxSegs, link?.txqueuelen, link?.gsoMaxSegs].every(isCount) &&
    Array.isArray(value.fingerprint) &&
    value.fingerprint.every((/** @type {unknown} */ line) => typeof line === 'string');
  if (!isSound) return null;
  checkScheme(made.scheme);
  checkShare(String(made.share));
  return value;
}

/**
 * @param {string} directory
 * @param {string} name
 * @returns {State | null} null = apply did not run here
 */
function readState(directory, name) {
  const file = fileOf(directory, checkInterface(name));
  let text;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    // A folder without read permission: every process that can change the interface can read it.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null;
    throw new CliError(`${file} cannot be read: ${message}`, EXIT.CANNOT);
  }
  try {
    const state = toState(JSON.parse(text), name);
    if (state) return state;
  } catch {
    // Reported below.
  }
  throw new CliError(
    `${file} was not written by 'seganet-net apply'. Remove it; 'tc qdisc del dev ${name} root' restores the default queue of the interface.`,
    EXIT.CANNOT
  );
}

/** @param {string} directory */
const makeDirectory = (directory) => makeFolder(directory, 'seganet-net');

/** @param {string} directory @param {State} state */
function writeState(directory, state) {
  writeWhole(fileOf(directory, state.interface), `${JSON.stringify(state, null, 2)}\n`);
}

/** @param {string} directory @param {string} name */
function removeState(directory, name) {
  fs.rmSync(fileOf(directory, name), { force: true });
}

/**
 * Runs `body` under the lock of an interface.
 * @template T
 * @param {string} directory
 * @param {string} name
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
const locked = (directory, name, body) =>
  lockedBy(
    path.join(directory, `${name}.lock`),
    (owner) => `Another seganet-net (process ${owner}) is changing '${name}'. Try again.`,
    body
  );

module.exports = { DEFAULT_DIRECTORY, readState, writeState, removeState, makeDirectory, writeWhole, locked };
