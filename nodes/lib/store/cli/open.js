'use strict';
// Finds and opens a log for the command. A gateway holds its log exclusively, and so does the command: a reader keeps a
// read transaction open, during which no gateway can start; a writer takes the lock until it ends.

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { foreignFault } = require('../../base/cli/place');
const { databaseFault } = require('../../base/files/database-files');
const { page } = require('../../base/texts/page');
const { APPLICATION_ID, FILE, USER_VERSION } = require('../log-schema');
const { missingBytes } = require('./pad');
const { loadSqlite, codeOf, CODES } = require('./sqlite');
const { CliError, EXIT } = require('./log-error');
const { TABLES } = require('./walk');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {{ directory: string, file: string }} Place */

/** @param {string} message */
const cannot = (message) => new CliError(message, EXIT.CANNOT);

/** @param {string} directory */
const hasAside = (directory) =>
  fs.readdirSync(directory).some((entry) => entry.startsWith(`${FILE}.damaged-`));

/**
 * @param {string} name the log's folder, or, for reading, a database in it (one that was set aside, for example)
 * @param {'read' | 'write'} [purpose]
 * @returns {Place} the file may be missing for 'write'
 */
function locate(name, purpose = 'read') {
  const given = path.resolve(name);
  const stat = fs.statSync(given, { throwIfNoEntry: false });
  if (!stat)
    throw cannot(`${given} does not exist. Enter the log's folder: the engine node and the status show it.`);
  if (stat.isFile() && purpose === 'read') return { directory: path.dirname(given), file: given };
  if (!stat.isDirectory()) throw cannot(`${given} is not a folder. Enter the log's folder.`);
  const file = path.join(given, FILE);
  const found = fs.statSync(file, { throwIfNoEntry: false });
  if (!found && !(purpose === 'write' && hasAside(given))) {
    throw cannot(`There is no log in ${given}: it has no ${FILE}. Enter the log's folder.`);
  }
  if (found && !found.isFile()) throw cannot(`${file} is not a file. Enter the log's folder.`);
  return { directory: given, file };
}

/**
 * @param {unknown} error
 * @param {string} file
 * @returns {unknown} an error with a remedy, if there is one
 */
function explain(error, file) {
  switch (codeOf(error)) {
    case CODES.BUSY:
    case CODES.LOCKED:
      return cannot(
        `${file} is in use by another process, most likely a running gateway. Stop the gateway and run the command again.`
      );
    case CODES.NOTADB:
      return cannot(
        `${file} is not a log of the gateway: it is not an SQLite database, or its first page is destroyed. ` +
          'If it was a log, move it away so that the gateway can start a new one; "sqlite3 FILE .recover" may still read it.'
      );
    case CODES.CORRUPT:
      if (missingBytes(file) > 0) {
        return new CliError(
          `${file} is truncated: its end is missing. Run seganet-log repair, which keeps the rest of it.`,
          EXIT.DAMAGE
        );
      }
      return new CliError(
        `The first pages of ${file} are damaged, so nothing can be found in it. "sqlite3 FILE .recover" may still ` +
          `read it; each chunk has its own checksum (${page('reference/log-format.md')}).`,
        EXIT.DAMAGE
      );
    case CODES.FULL:
      return cannot(
        `There is no space left to write ${file}. Make room on that disk and run the command again.`
      );
    case CODES.READONLY:
    case CODES.CANTOPEN:
      return cannot(
        `${file} cannot be opened. Reading a log requires write access to its folder, too: ` +
          "run the command as the gateway's user, or on a copy of the whole folder."
      );
    case 0:
      return error;
    default:
      // A damaged schema causes SQLITE_ERROR: no such column, an unknown format.
      return new CliError(
        `SQLite cannot work with ${file}: ${/** @type {Error} */ (error).message}. Check for disk errors (dmesg); ` +
          '"sqlite3 FILE .recover" may still read it.',
        codeOf(error) === CODES.ERROR ? EXIT.DAMAGE : EXIT.CANNOT
      );
  }
}

/**
 * Opens the file without its WAL and without locks, for a medium or a folder without write access.
 * @param {string} file
 * @returns {DatabaseSync}
 */
function openImmutable(file) {
  const { DatabaseSync } = loadSqlite();
  if ((fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw Object.assign(new Error('its WAL cannot be read'), { errcode: CODES.CANTOPEN });
  }
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  try {
    return new DatabaseSync(url, { readOnly: true });
  } catch (error) {
    // Node.js before 22.15 accepts no URL.
    if (!(error instanceof TypeError)) throw error;
    throw Object.assign(new Error('needs Node 22.15'), { errcode: CODES.CANTOPEN });
  }
}

/** @param {DatabaseSync} db @param {string} name */
const pragma = (db, name) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);

/** @param {DatabaseSync} db @param {string} file */
function checkIds(db, file) {
  if (pragma(db, 'page_count') === 0) {
    throw cannot(`${file} is empty: no gateway has written to it yet. Start the gateway once.`);
  }
  if (pragma(db, 'application_id') !== APPLICATION_ID) {
    throw cannot(`${file} is the database of another program; it was not changed. Enter the log's folder.`);
  }
  const version = pragma(db, 'user_version');
  if (version > USER_VERSION) {
    throw cannot(
      `${file} was written by a newer gateway (format ${version}; this command reads ${USER_VERSION}); it was not changed. ` +
        'Use the seganet-log of that gateway.'
    );
  }
}

/**
 * Checks the tables. The first read begins the transaction that excludes gateways.
 * @param {DatabaseSync} db
 * @param {string} file
 */
function checkTables(db, file) {
  const names = db.prepare('SELECT name FROM sqlite_schema').all();
  for (const table of [...TABLES, 'chunk_lane']) {
    if (names.some(({ name }) => name === table)) continue;
    throw new CliError(
      `${file} is a log without its table or index '${table}'. Another program probably changed it: restore it from a backup.`,
      EXIT.DAMAGE
    );
  }
}

/** Returns why a database must not be opened, as a sentence; '' = it may. @param {string} file */
const faultOf = (file) => foreignFault(file) || databaseFault(file);

/** @param {string} file */
function refuseFault(file) {
  const fault = faultOf(file);
  if (fault) throw cannot(fault);
}

/**
 * Opens a log for reading. Nothing is written to the file, not even the content of its WAL.
 * @param {string} file
 * @returns {DatabaseSync}
 */
function openToRead(file) {
  const { DatabaseSync } = loadSqlite();
  refuseFault(file);
  /** @type {DatabaseSync | undefined} */
  let db;
  try {
    try {
      db = new DatabaseSync(file, { readOnly: true });
      checkIds(db, file);
    } catch (error) {
      const code = codeOf(error);
      if (code !== CODES.CANTOPEN && code !== CODES.READONLY) throw error;
      db?.close();
      db = undefined;
      db = openImmutable(file);
      checkIds(db, file);
    }
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; BEGIN');
    checkTables(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, file);
  }
}

/**
 * Opens a log for changes. No other process can open it until it is closed. REQUIRES: openToRead() accepted it.
 * @param {string} file
 * @returns {DatabaseSync}
 */
function openToWrite(file) {
  const { DatabaseSync } = loadSqlite();
  refuseFault(file);
  try {
    for (const name of [file, path.dirname(file)]) fs.accessSync(name, fs.constants.W_OK);
  } catch {
    throw cannot(`You are not allowed to change ${file}. Run the command as the gateway's user.`);
  }
  const db = new DatabaseSync(file);
  try {
    db.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
      PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT;`);
    return db;
  } catch (error) {
    db.close();
    throw explain(error, file);
  }
}

module.exports = { locate, openToRead, openToWrite, explain, faultOf };
