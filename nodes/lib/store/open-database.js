'use strict';
// Opens an SQLite database of the gateway, and creates it if necessary. A database has an owner (application id) and a
// version; one of another program, or of a newer gateway, is not changed.

const path = require('node:path');
const { createFile, makeFolder, rewriteWal } = require('./log-folder');
const { damage } = require('./log-reasons');
const { DatabaseSync } = require('./sqlite');
const { rollBack, transact } = require('./transact');

/** @typedef {import('node:sqlite').DatabaseSync} Db */

/**
 * @typedef {object} Kind of database
 * @property {number} applicationId distinguishes our databases from those of other programs
 * @property {string[]} versions SQL of what each version adds to the one before it
 * @property {(file: string) => Error} foreign makes the error for the database of another program
 * @property {(file: string, version: number) => Error} newer makes the error for a version that is not known here
 * @property {number} [busyMs] time that a statement waits for another process; default 0
 * @property {boolean} [isExclusive] the lock is held until the database is closed, so that there is no -shm file;
 *   without it, other processes may read it
 * @property {string} [layout] pragmas that must precede the first page of a new file
 * @property {boolean} [rewritesWal] see rewriteWal(); needs isExclusive, or a lock of its own
 * @property {(db: Db) => void} [check] checks the tables of an existing database; throws
 * @property {boolean} [checksPages] reads all pages, for a small database whose rows must not read as NULLs
 * @property {boolean} [needsWal] throws if the file system keeps another journal mode
 * @property {string} [pragmas] of the connection, beside those that all have
 */

/**
 * @template T
 * @param {string} file
 * @param {Kind} kind
 * @param {(db: Db) => T} make makes what the owner needs of the connection, such as its statements
 * @returns {{ db: Db, made: T }}
 * @throws {Error} of `kind`, `make`, SQLite or the file system; the file is closed then
 */
function openDatabase(file, kind, make) {
  makeFolder(path.resolve(path.dirname(file)));
  createFile(file);
  const db = new DatabaseSync(file, { timeout: kind.busyMs ?? 0, enableForeignKeyConstraints: false });
  try {
    setUp(db, file, kind);
    return { db, made: make(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** @param {Db} db @param {string} file @param {Kind} kind */
function setUp(db, file, kind) {
  const { applicationId, versions } = kind;
  // Before any read: with the lock held permanently, the index of the WAL is in memory, and there is no -shm file.
  if (kind.isExclusive) db.exec('PRAGMA locking_mode = EXCLUSIVE');
  db.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;');
  const isNew = isEmpty(db);
  if (!isNew && pragma(db, 'application_id') !== applicationId) throw kind.foreign(file);
  const version = isNew ? 0 : pragma(db, 'user_version');
  if (version > versions.length) throw kind.newer(file, version);
  // The lock is held now. A commit that failed may have left pages of the WAL that are not on disk.
  if (kind.rewritesWal) rewriteWal(path.dirname(file), path.basename(file));
  if (!isNew) kind.check?.(db);
  else if (kind.layout) db.exec(kind.layout);
  if (version < versions.length) update(db, kind);
  if (kind.checksPages) checkPages(db);
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (kind.needsWal && mode !== 'wal') {
    const message = `SQLite keeps the journal mode ${mode}; WAL is needed`;
    throw Object.assign(new Error(message), { code: 'JOURNAL_MODE' });
  }
  db.exec(`PRAGMA synchronous = FULL; ${kind.pragmas ?? ''}`);
}

/** @param {Db} db @param {Kind} kind */
function update(db, { applicationId, versions }) {
  // In one transaction of a rollback journal: a crash leaves either no table or all. (SQLite writes the first page
  // before that.)
  db.exec('BEGIN EXCLUSIVE');
  // Another process may have done it while this one waited for the lock.
  const isOurs = pragma(db, 'application_id') === applicationId;
  for (let v = isOurs ? pragma(db, 'user_version') : 0; v < versions.length; v++) db.exec(versions[v]);
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${versions.length}; COMMIT;`);
}

/** @param {Db} db */
function checkPages(db) {
  const [found] = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {});
  if (found !== 'ok') throw damage(`it is damaged: ${found}`);
}

/** True if the database has no owner: no table, and no application id. @param {Db} db */
function isEmpty(db) {
  if (pragma(db, 'application_id') !== 0) return false;
  return db.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count === 0;
}

/** @param {Db} db @param {string} name @returns {number} */
function pragma(db, name) {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/**
 * Moves the WAL's pages into the database, and syncs both. Throws when that failed completely or partly.
 * @param {Db} db
 * @param {'PASSIVE' | 'TRUNCATE'} mode TRUNCATE leaves an empty WAL
 */
function checkpoint(db, mode) {
  const result = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  if (Number(result?.busy) !== 0)
    throw Object.assign(new Error('the checkpoint did not finish'), { code: 'CHECKPOINT' });
}

/**
 * Closes a connection, and releases its lock in any case. SQLite tries a last checkpoint, and keeps the WAL if that
 * fails.
 * @param {Db | null | undefined} db
 */
function closeDatabase(db) {
  try {
    db?.close();
  } catch {
    // already closed
  }
}

module.exports = { checkpoint, closeDatabase, isEmpty, openDatabase, pragma, rollBack, transact };
