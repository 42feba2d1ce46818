'use strict';
// Copies a database of a tenant while the tenant uses it, and checks copies.

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { pathToFileURL } = require('node:url');
const { CliError } = require('../base/errors');
const { ChangedError, copyRepaired, removeCopy } = require('./repair');
const { loadSqlite } = require('./sqlite');
const { startsAsDatabase } = require('./volume');

/** All pages in one step: between two steps another process could write, and SQLite would begin again. */
const ALL_PAGES = 0x7fffffff;
const WAIT_MS = 1000;
const TRIES = 3;
/** SQLite's primary result codes; node:sqlite reports some failures of a copy with 0. */
const CODES = { LOCKED: [0, 5, 6], READ_ONLY: [8, 14], DAMAGED: [11, 26] };
/** Lines of a report. */
const MOST_FAULTS = 3;

/** A database that another process holds with an exclusive lock. */
class LockedError extends Error {}
/** A file that begins as a database and is none. */
class DamagedError extends Error {}

/**
 * Copies what is committed in a database. What its program left half done is repaired in the copy only.
 * @param {object} what
 * @param {string} what.source may be in use
 * @param {number} what.fd of it. REQUIRES: the caller closes it after this call (closing a file ends the locks that
 *   this process has on it)
 * @param {string} what.target does not exist
 * @param {number} what.most bytes of the copy
 * @throws {LockedError | DamagedError | CliError}
 */
async function copyDatabase(what) {
  /** @type {any} */
  let last = null;
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      if (CODES.READ_ONLY.includes(primary(last))) {
        const { source, fd, target, most } = what;
        checkPath(source, fs.fstatSync(fd));
        copyRepaired(source, fd, target, most);
      } else await copyByBackup(what);
      return;
    } catch (error) {
      removeCopy(what.target);
      if (error instanceof CliError) throw error;
      if (error instanceof ChangedError) last = Object.assign(error, { errcode: CODES.LOCKED[0] });
      else {
        const { code, errcode, message } = /** @type {any} */ (error);
        if (code !== 'ERR_SQLITE_ERROR' && errcode === undefined) throw error;
        if (CODES.DAMAGED.includes(primary(error))) throw new DamagedError(message);
        // What cannot be repaired outside of the volume is not read there once more.
        if (CODES.READ_ONLY.includes(primary(last))) break;
        last = error;
      }
    }
    if (!CODES.LOCKED.includes(primary(last)) && !CODES.READ_ONLY.includes(primary(last))) break;
    await sleep(50 * tries);
  }
  if (CODES.LOCKED.includes(primary(last))) throw new LockedError(last.message);
  throw new CliError(`SQLite cannot read it: ${last.message}`);
}

/** @param {Parameters<typeof copyDatabase>[0]} what */
async function copyByBackup({ source, fd, target }) {
  const { DatabaseSync, backup } = loadSqlite();
  /** @type {import('node:sqlite').DatabaseSync | null} */
  let db = null;
  try {
    db = new DatabaseSync(source, { readOnly: true, timeout: WAIT_MS });
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;');
    // Reports a locked or damaged file; the copy would only say that it failed.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    checkIdentity(fs.fstatSync(fd));
    await backup(db, target, { rate: ALL_PAGES });
  } finally {
    db?.close();
  }
}

/** @param {any} error @returns {number} -1 = none */
const primary = (error) => (error ? (error.errcode ?? 1) & 0xff : -1);

/**
 * Checks that SQLite has opened this very file, and not what a link or a rename put in its place meanwhile.
 * @param {{ dev: number, ino: number }} identity
 */
function checkIdentity({ dev, ino }) {
  const descriptors = fs.readdirSync('/proc/self/fd').filter((fd) => {
    const stat = fs.statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false });
    return stat?.dev === dev && stat.ino === ino;
  });
  if (descriptors.length < 2) throw replaced();
}

/** @param {string} source @param {{ dev: number, ino: number }} identity */
function checkPath(source, { dev, ino }) {
  const stat = fs.lstatSync(source, { throwIfNoEntry: false });
  if (stat?.dev !== dev || stat.ino !== ino) throw replaced();
}

const replaced = () => new CliError('It was replaced while it was opened. Run the backup again.');

/**
 * @param {string} file that no other process uses
 * @returns {string} '' = the database is whole, else the first faults
 */
function faultsOf(file) {
  const { DatabaseSync } = loadSqlite();
  const url = pathToFileURL(file);
  // Leaves no -wal and -shm beside it.
  url.search = 'immutable=1';
  try {
    // SQLite takes an almost empty file for an empty database.
    if (!isDatabase(file)) return 'file is not a database';
    const db = new DatabaseSync(url, { readOnly: true });
    try {
      db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;');
      const rows = db.prepare(`PRAGMA integrity_check(${MOST_FAULTS})`).all();
      const faults = rows.map((row) => String(row.integrity_check));
      return faults.join() === 'ok' ? '' : faults.join('; ');
    } finally {
      db.close();
    }
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/** @param {string} file */
function isDatabase(file) {
  const fd = fs.openSync(file, 'r');
  try {
    return startsAsDatabase(fd);
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { DamagedError, LockedError, copyDatabase, faultsOf };
