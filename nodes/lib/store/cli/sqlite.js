'use strict';
// Loads node:sqlite for the command, and interprets its error codes.

const { isWildNumber } = require('../log-reasons');
const { CliError, EXIT } = require('./log-error');

/** @returns {typeof import('node:sqlite')} */
function loadSqlite() {
  try {
    return require('../sqlite');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw error;
    throw new CliError(
      `This Node (${process.version}) has no node:sqlite. Run the command with Node 22.16 or newer, as the gateway does.`,
      EXIT.CANNOT
    );
  }
}

const CODES = /** @type {const} */ ({
  ERROR: 1,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26
});

/**
 * Returns SQLite's primary result code of an error, 0 = the error is not one of SQLite's.
 * @param {unknown} error
 * @returns {number}
 */
function codeOf(error) {
  const { errcode } = /** @type {{ errcode?: number }} */ (error ?? {});
  return typeof errcode === 'number' ? errcode & 0xff : 0;
}

/** True for damage found when reading; a bad sector is an I/O error. @param {unknown} error */
function isDamage(error) {
  const code = codeOf(error);
  return code === CODES.CORRUPT || code === CODES.NOTADB || code === CODES.IOERR || isWildNumber(error);
}

module.exports = { loadSqlite, codeOf, isDamage, CODES };
