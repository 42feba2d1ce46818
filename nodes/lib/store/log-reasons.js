'use strict';
// Explains to the user why the log does not work: a code, a sentence with a remedy, and how the log continues.

const { shown } = require('../base/values');

/**
 * @typedef {object} Reason
 * @property {string} code an SQLite result code (SQLITE_FULL, SQLITE_IOERR_FSYNC …), or one of ours
 * @property {string} reason a sentence with a remedy
 * @property {'refused' | 'failing' | 'damaged'} kind refused: retried slowly; failing: retried soon; damaged: the file
 *   is damaged
 */

const FULL = 13;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const NOTADB = 26;

/** Primary result codes of SQLite (https://sqlite.org/rescode.html). @type {Record<number, string>} */
const NAMES = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  [READONLY]: 'SQLITE_READONLY',
  [IOERR]: 'SQLITE_IOERR',
  [CORRUPT]: 'SQLITE_CORRUPT',
  [FULL]: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  19: 'SQLITE_CONSTRAINT',
  [NOTADB]: 'SQLITE_NOTADB'
};

/** Extended codes of SQLITE_IOERR, which name the operation that failed. @type {Record<number, string>} */
const IO_NAMES = {
  1: 'READ',
  2: 'SHORT_READ',
  3: 'WRITE',
  4: 'FSYNC',
  5: 'DIR_FSYNC',
  6: 'TRUNCATE',
  7: 'FSTAT'
};

/** Errors of the file system that occur before SQLite is called. @type {Record<string, number>} */
const ERRNO = { ENOSPC: FULL, EDQUOT: FULL, EROFS: READONLY, EIO: IOERR };

/** A file or folder that belongs to another program. It is left untouched. */
class Refusal extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * True for a number beyond 2^53, which no log contains, and which node:sqlite refuses to read; or for a sum beyond
 * 2^63: the file is damaged.
 * @param {any} error
 */
const isWildNumber = (error) =>
  (error?.code === 'ERR_OUT_OF_RANGE' && /^Value is too large to be represented/.test(error.message)) ||
  (error?.code === 'ERR_SQLITE_ERROR' && error.message === 'integer overflow');

/**
 * Returns the primary result code of SQLite, 0 = the error is not one of SQLite's.
 * @param {any} error
 * @returns {number}
 */
function primaryCode(error) {
  if (isWildNumber(error)) return CORRUPT;
  if (error?.code === 'ERR_SQLITE_ERROR') return error.errcode & 0xff;
  return ERRNO[error?.code] ?? 0;
}

/** @param {any} error */
function codeName(error) {
  const primary = primaryCode(error);
  const io = primary === IOERR && IO_NAMES[error.errcode >> 8];
  return io ? `SQLITE_IOERR_${io}` : (NAMES[primary] ?? String(error?.code ?? 'ERROR'));
}

/**
 * @param {any} error
 * @param {string} directory
 * @returns {Reason}
 */
function explain(error, directory) {
  const code = codeName(error);
  if (error instanceof Refusal) return { code, reason: error.message, kind: 'refused' };
  /** @param {string} reason @param {Reason['kind']} [kind] */
  const say = (reason, kind = 'failing') => ({ code, reason, kind });
  switch (primaryCode(error)) {
    case 5:
    case 6:
      return say(
        `The log in ${directory} is in use by another process. Stop that process, or give each engine its own log folder.`,
        'refused'
      );
    case FULL:
      return say(
        `The disk of the log (${directory}) ${error.neededMiB ? `has less than ${error.neededMiB} MiB free` : 'is full'}. Free space on it; the log then continues on its own. If this gateway filled it, lower the log's limit.`
      );
    case READONLY:
      return say(
        `The log in ${directory} cannot be written: its disk is read-only. Check for disk errors (dmesg), then mount it writable again.`
      );
    case IOERR:
      return say(
        `The disk of the log (${directory}) is failing (${code}). Check for disk errors (dmesg), and replace a card or disk that has any.`
      );
    case CORRUPT:
    case NOTADB:
      return say(`The log in ${directory} is damaged (${code}).`, 'damaged');
    case 14:
      return say(`The log in ${directory} cannot be opened (${code}). Check the folder and its permissions.`);
    default:
      return other(error, directory, code);
  }
}

/**
 * @param {any} error
 * @param {string} directory
 * @param {string} code
 * @returns {Reason}
 */
function other(error, directory, code) {
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    const reason = `The log's folder ${directory} is not a folder. Choose another one.`;
    return { code, reason, kind: 'refused' };
  }
  if (code === 'EACCES' || code === 'EPERM') {
    const reason = `The gateway may not write to the log's folder ${directory}. Grant its user write access, or choose another folder.`;
    return { code, reason, kind: 'refused' };
  }
  if (code === 'ENAMETOOLONG') {
    const reason = `The name of the log's folder is too long for the file system: ${shown(directory)}. Choose a shorter one.`;
    return { code, reason, kind: 'refused' };
  }
  if (code === 'MOVED') {
    const reason = `The log in ${directory} was moved or deleted while it was in use. A new log was started.`;
    return { code, reason, kind: 'failing' };
  }
  return {
    code,
    reason: `The log in ${directory} does not work (${error?.message ?? error}).`,
    kind: 'failing'
  };
}

/** @param {string} why @returns {Error} that isDamage() recognizes */
function damage(why) {
  return Object.assign(new Error(why), { code: 'ERR_SQLITE_ERROR', errcode: CORRUPT });
}

/** True for damage of this file, as far as SQLite can detect it. @param {any} error */
const isDamage = (error) => [CORRUPT, NOTADB].includes(primaryCode(error));

/** True for a failed read: IOERR_READ, IOERR_SHORT_READ. @param {any} error */
const isReadError = (error) => primaryCode(error) === IOERR && [1, 2].includes(error.errcode >> 8);

/**
 * True for an error of the disk or the file, for which a retry makes sense. Any other error is a bug.
 * @param {any} error
 */
const isStorage = (error) =>
  error instanceof Refusal ||
  error?.code === 'ERR_SQLITE_ERROR' ||
  isWildNumber(error) ||
  error?.syscall !== undefined ||
  ['CHECKPOINT', 'JOURNAL_MODE', 'ENOSPC', 'MOVED'].includes(error?.code);

/** @param {any} error */
const isFull = (error) => primaryCode(error) === FULL;

exports.Refusal = Refusal;
exports.damage = damage;
exports.explain = explain;
exports.isDamage = isDamage;
exports.isFull = isFull;
exports.isReadError = isReadError;
exports.isStorage = isStorage;
exports.isWildNumber = isWildNumber;
