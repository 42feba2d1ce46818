'use strict';
// Reads and writes the tenants file. Only this program writes it.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { takeLock } = require('../base/lock');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');
const { MAX_FILE_BYTES, checkTenant, parseTenants } = require('../../../../nodes/lib/tenants/file/schema');

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

/** @param {string} file @returns {string} '' if there is none @throws {Error} it is empty, or cannot be read */
function textOf(file) {
  let size;
  try {
    size = fs.statSync(file).size;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return '';
    throw error;
  }
  if (size === 0) throw new Error('it is empty.');
  if (size > MAX_FILE_BYTES) throw new Error(`it exceeds ${MAX_FILE_BYTES >> 20} MiB`);
  return fs.readFileSync(file, 'utf8');
}

/**
 * @param {string} file
 * @param {{ isNeeded?: boolean }} [options] true: a missing file is an error
 * @returns {Spec[]} none if there is no file
 * @throws {CliError} exit code 78
 */
function readTenants(file, { isNeeded = false } = {}) {
  try {
    const text = textOf(file);
    if (text !== '') return parseTenants(text);
    if (isNeeded) throw new Error('it is missing.');
    return [];
  } catch (error) {
    throw new CliError(`The tenants file ${file} is not usable: ${messageOf(error)}`, EXIT.CONFIG);
  }
}

/**
 * Changes the list of tenants. The file keeps what its author wrote: standards are not filled in.
 * @param {string} file
 * @param {(tenants: any[]) => any[]} change gets the entries as they are in the file, and returns the new ones
 * @returns {Spec[]} the new tenants
 * @throws {CliError} and leaves the file as it was
 */
function changeTenants(file, change) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const lock = takeLock(`${file}.lock`);
  if ('owner' in lock) {
    throw new CliError(`Process ${lock.owner} is changing ${file}. Repeat the command when it has ended.`);
  }
  try {
    readTenants(file);
    const text = textOf(file);
    const before = text === '' ? { version: 1, tenants: [] } : JSON.parse(text);
    const after = JSON.stringify({ ...before, tenants: change(before.tenants) }, null, 2);
    const specs = parseTenants(after);
    // The gateway may run as another user of the same group: what was readable stays so.
    const mode = text === '' ? 0o600 : fs.statSync(file).mode & 0o777;
    replaceFile(file, `${after}\n`, mode);
    return specs;
  } finally {
    lock.release();
  }
}

module.exports = { readTenants, changeTenants, checkTenant };
