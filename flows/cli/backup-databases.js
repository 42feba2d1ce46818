'use strict';
// Adds SQLite databases to the archive of a backup.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { ALL_PAGES, copyDatabase } = require('../../nodes/lib/store/database-copy');
const { explain, faultOf } = require('../../nodes/lib/store/cli/open');
const { CODES, codeOf, loadSqlite } = require('../../nodes/lib/store/cli/sqlite');
const { addFile } = require('./backup-files');
const { SIDES } = require('./file-kinds');
const { EXIT } = require('./usage');

/** How long another process may keep a database locked, for a commit. */
const BUSY_MS = 1000;
/** SQLite's codes of a database that another process has locked, and of one that this user cannot open. */
const LOCKED = /** @type {number[]} */ ([CODES.BUSY, CODES.LOCKED]);
const CLOSED = /** @type {number[]} */ ([CODES.READONLY, CODES.CANTOPEN]);

/** Returns an address with which SQLite opens a database to write, and never creates one. @param {string} file */
function toWrite(file) {
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return url;
}

/**
 * Adds a log that no gateway has locked.
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} entry
 * @param {string} file
 * @param {string} temporary
 */
async function addLog(archive, entry, file, temporary) {
  const fault = faultOf(file);
  if (fault) throw new CliError(fault, EXIT.CANNOT);
  try {
    await addCopy(archive, entry, file, temporary);
  } catch (error) {
    throw explain(error, file);
  }
}

/**
 * damaged: added as it is; after it: not added; faulty: see faultOf().
 * @typedef {'whole' | 'damaged' | 'locked' | 'closed' | 'gone' | 'faulty'} Outcome
 */

/**
 * Adds a database that is no log, which another process may be using.
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} entry
 * @param {string} file
 * @param {string} temporary
 * @returns {Promise<Outcome>}
 */
async function addOtherDatabase(archive, entry, file, temporary) {
  if (faultOf(file)) return 'faulty';
  try {
    try {
      await addCopy(archive, entry, file, temporary);
    } catch (error) {
      // A database that its program left in the middle of a commit can only be opened to write: SQLite repairs it.
      if (!CLOSED.includes(codeOf(error))) throw error;
      await addCopy(archive, entry, file, temporary, { readOnly: false });
    }
    return 'whole';
  } catch (error) {
    const code = codeOf(error);
    if (LOCKED.includes(code)) return 'locked';
    if (CLOSED.includes(code)) return fs.existsSync(file) ? 'closed' : 'gone';
    if (code !== CODES.CORRUPT && code !== CODES.NOTADB) throw explain(error, file);
  }
  for (const side of ['', ...SIDES]) {
    if (fs.existsSync(file + side)) await addFile(archive, entry + side, file + side);
  }
  return 'damaged';
}

/**
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} entry
 * @param {string} file
 * @param {string} temporary
 * @param {{ readOnly: boolean }} [options]
 */
async function addCopy(archive, entry, file, temporary, { readOnly } = { readOnly: true }) {
  const { DatabaseSync } = loadSqlite();
  const copy = path.join(temporary, `.backup-${crypto.randomBytes(6).toString('hex')}.db`);
  try {
    const db = new DatabaseSync(readOnly ? file : toWrite(file), { readOnly, timeout: BUSY_MS });
    try {
      // Reports a database in use. SQLite's backup API would only say that it failed.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
      await copyDatabase(db, copy, () => false, ALL_PAGES);
    } finally {
      db.close();
    }
    await addFile(archive, entry, copy);
  } finally {
    fs.rmSync(copy, { force: true });
  }
}

module.exports = { addLog, addOtherDatabase };
