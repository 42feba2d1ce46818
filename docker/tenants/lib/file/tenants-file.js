'use strict';
// Reads and writes the tenants file. Only this program writes it.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { takeLock } = require('../base/lock');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');
const { MAX_FILE_BYTES, parseFile } = require('../../../../nodes/lib/tenants/file/schema');

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Template} Template */

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
 * @returns {{ tenants: Spec[], templates: Template[] }} none if there is no file
 * @throws {CliError} exit code 78
 */
function readFile(file, { isNeeded = false } = {}) {
  try {
    const text = textOf(file);
    if (text !== '') return parseFile(text);
    if (isNeeded) throw new Error('it is missing.');
    return { tenants: [], templates: [] };
  } catch (error) {
    throw new CliError(`The tenants file ${file} is not usable: ${messageOf(error)}`, EXIT.CONFIG);
  }
}

/**
 * As readFile, but only the tenants.
 * @param {string} file
 * @param {{ isNeeded?: boolean }} [options]
 * @returns {Spec[]}
 */
const readTenants = (file, options) => readFile(file, options).tenants;

/**
 * Changes the file. It keeps what its author wrote: standards are not filled in.
 * @param {string} file
 * @param {(content: { tenants: any[], templates?: Record<string, any> }) => object} change gets the content as it is in
 *   the file, and returns the members that change
 * @returns {Spec[]} the new tenants
 * @throws {CliError} and leaves the file as it was
 */
function changeFile(file, change) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const lock = takeLock(`${file}.lock`);
  if ('owner' in lock) {
    throw new CliError(`Process ${lock.owner} is changing ${file}. Repeat the command when it has ended.`);
  }
  try {
    readFile(file);
    const text = textOf(file);
    const before = text === '' ? { version: 1, tenants: [] } : JSON.parse(text);
    const after = JSON.stringify({ ...before, ...change(before) }, null, 2);
    const { tenants } = parseFile(after);
    // The gateway may run as another user of the same group: what was readable stays so.
    const mode = text === '' ? 0o600 : fs.statSync(file).mode & 0o777;
    replaceFile(file, `${after}\n`, mode);
    return tenants;
  } finally {
    lock.release();
  }
}

/**
 * As changeFile, but only the list of tenants.
 * @param {string} file
 * @param {(tenants: any[]) => any[]} change
 * @returns {Spec[]}
 */
const changeTenants = (file, change) => changeFile(file, ({ tenants }) => ({ tenants: change(tenants) }));

module.exports = { changeFile, changeTenants, readFile, readTenants };
