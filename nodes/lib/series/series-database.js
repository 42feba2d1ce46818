'use strict';
// One connection to <folder>/series.db: opening, statements, transactions. It makes no decisions, and throws every
// error.

const fs = require('node:fs');
const path = require('node:path');
const { shown } = require('../base/values');
const { makeFolder, rewriteWal, syncDirectory } = require('../store/log-folder');
const { Refusal } = require('../store/log-reasons');
const { DatabaseSync } = require('../store/sqlite');

const FILE = 'series.db';
const LOCK_FILE = 'series.lock';
/** "Ssnr", and the version of the tables. */
const APPLICATION_ID = 0x53736e72;
const USER_VERSION = 1;
/** Pages that a reader of another process, such as a backup, may keep in the WAL before it is large. */
const AUTO_CHECKPOINT = 2000;
const JOURNAL_LIMIT = 8 << 20;

const SCHEMA = `
CREATE TABLE series (id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, name TEXT NOT NULL,
  UNIQUE (device, name)) STRICT;
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL) STRICT;
CREATE TABLE minute (series INTEGER NOT NULL, start INTEGER NOT NULL, body BLOB NOT NULL,
  PRIMARY KEY (series, start)) STRICT, WITHOUT ROWID;
CREATE TABLE hour (series INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL, low REAL NOT NULL,
  high REAL NOT NULL, sum REAL NOT NULL, body BLOB, PRIMARY KEY (series, start)) STRICT, WITHOUT ROWID;
CREATE INDEX hour_start ON hour (start);
CREATE TABLE record (id INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, topic TEXT NOT NULL,
  ts INTEGER NOT NULL, payload TEXT NOT NULL) STRICT;
CREATE TABLE latest (device TEXT NOT NULL, topic TEXT NOT NULL, record INTEGER NOT NULL,
  PRIMARY KEY (device, topic)) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE record_text USING fts5(device, topic, payload, content='record', content_rowid='id');
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

class SeriesDatabase {
  /**
   * Throws a Refusal for a file of another program or a folder that is in use, else an error of SQLite or the file
   * system.
   * @param {string} directory
   */
  constructor(directory) {
    this.directory = directory;
    this.file = path.join(directory, FILE);
    makeFolder(directory);
    if (!fs.statSync(directory).isDirectory())
      throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR', syscall: 'stat' });
    this.lock = lockFolder(directory);
    /** @type {import('node:sqlite').DatabaseSync | null} */
    let db = null;
    try {
      createFile(directory, this.file);
      db = new DatabaseSync(this.file, { timeout: 2000, enableForeignKeyConstraints: false });
      setUp(db, this.file);
      rewriteWal(directory, FILE);
      this.db = db;
      this.statements = prepare(db);
    } catch (error) {
      db?.close();
      this.lock.close();
      throw error;
    }
  }

  /**
   * Runs work in a transaction. After an error nothing of it remains, unless COMMIT itself failed.
   * @template T
   * @param {() => T} work
   * @returns {T}
   */
  transact(work) {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #rollBack() {
    try {
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
    } catch {
      // The connection is renewed before it is used again.
    }
  }

  /** Moves the pages of the WAL into the database and syncs it. Throws if that fails. */
  checkpoint() {
    const result = this.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (Number(result?.busy) !== 0)
      throw Object.assign(new Error('the checkpoint did not finish'), { code: 'CHECKPOINT' });
  }

  /** @returns {number} bytes of the pages in use */
  usedBytes() {
    return (pragma(this.db, 'page_count') - pragma(this.db, 'freelist_count')) * pragma(this.db, 'page_size');
  }

  /** @param {string} name @returns {number} 0 = not set */
  meta(name) {
    return Number(this.statements.meta.get(name)?.value ?? 0);
  }

  /** @param {string} name @param {number} value whole */
  setMeta(name, value) {
    this.statements.setMeta.run(name, value);
  }

  /** Closes the connection in any case. */
  close() {
    for (const each of [this.db, this.lock]) {
      try {
        each.close();
      } catch {
        // already closed
      }
    }
  }
}

/**
 * Takes the lock of a folder. The database itself stays open for readers of other processes, such as a backup, so it
 * cannot be the lock; this one ends with the process.
 * @param {string} directory
 */
function lockFolder(directory) {
  createFile(directory, path.join(directory, LOCK_FILE));
  const lock = new DatabaseSync(path.join(directory, LOCK_FILE), { timeout: 0 });
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    const { errcode = 0 } = /** @type {{ errcode?: number }} */ (error);
    if ((errcode & 0xff) !== 5) throw error;
    throw new Refusal(
      'IN_USE',
      `The folder ${shown(directory)} is in use by another series node or process. Give each series node its own folder.`
    );
  }
}

/** @param {string} directory @param {string} file */
function createFile(directory, file) {
  try {
    // SQLite gives the WAL the permissions of the database.
    fs.closeSync(fs.openSync(file, 'wx', 0o600));
    syncDirectory(directory);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
}

/** @param {import('node:sqlite').DatabaseSync} db @param {string} file */
function setUp(db, file) {
  db.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;');
  const isEmpty = db.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count === 0;
  const owner = pragma(db, 'application_id');
  if (isEmpty && owner === 0)
    db.exec(`BEGIN EXCLUSIVE; PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${USER_VERSION}; ${SCHEMA} COMMIT;`);
  else if (owner !== APPLICATION_ID)
    throw new Refusal(
      'FOREIGN',
      `${shown(file)} is the database of another program; it was not changed. Choose another folder for the series.`
    );
  const version = pragma(db, 'user_version');
  if (version > USER_VERSION)
    throw new Refusal(
      'NEWER',
      `${shown(file)} was written by a newer version of the gateway (format ${version}, this one reads ${USER_VERSION}); it was not changed. Use that version, or choose another folder.`
    );
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode !== 'wal')
    throw Object.assign(new Error(`SQLite keeps the journal mode ${mode}`), { code: 'JOURNAL_MODE' });
  db.exec(`PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;
    PRAGMA wal_autocheckpoint = ${AUTO_CHECKPOINT}; PRAGMA journal_size_limit = ${JOURNAL_LIMIT};`);
}

/** @param {import('node:sqlite').DatabaseSync} db @param {string} name */
function pragma(db, name) {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/** @param {import('node:sqlite').DatabaseSync} db */
function prepare(db) {
  return {
    meta: db.prepare('SELECT value FROM meta WHERE name = ?'),
    setMeta: db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)'),
    allSeries: db.prepare('SELECT id, device, name FROM series'),
    // A name that is in the table already must not fail the records of a whole commit.
    insertSeries: db.prepare(
      'INSERT INTO series (device, name) VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id'
    ),
    deleteSeries: db.prepare('DELETE FROM series WHERE id = ?'),
    hasRows: db.prepare(
      'SELECT EXISTS (SELECT 1 FROM minute WHERE series = ?1) OR EXISTS (SELECT 1 FROM hour WHERE series = ?1) AS has'
    ),
    insertJournal: db.prepare('INSERT INTO journal (body) VALUES (?) RETURNING id'),
    deleteJournal: db.prepare('DELETE FROM journal WHERE id < ?'),
    // The highest number that was ever given.
    lastJournal: db.prepare("SELECT seq AS id FROM sqlite_sequence WHERE name = 'journal'"),
    journalAfter: db.prepare('SELECT id, body FROM journal WHERE id > ? ORDER BY id LIMIT 1'),
    insertMinute: db.prepare('INSERT OR IGNORE INTO minute VALUES (?, ?, ?)'),
    minute: db.prepare('SELECT body FROM minute WHERE series = ? AND start = ?'),
    setMinute: db.prepare('UPDATE minute SET body = ? WHERE series = ? AND start = ?'),
    minutes: db.prepare(
      'SELECT start, body FROM minute WHERE series = ? AND start >= ? AND start < ? ORDER BY start'
    ),
    firstMinute: db.prepare('SELECT min(start) AS start FROM minute WHERE series = ?'),
    lastMinute: db.prepare('SELECT start, body FROM minute WHERE series = ? ORDER BY start DESC LIMIT 1'),
    deleteMinutes: db.prepare('DELETE FROM minute WHERE series = ? AND start >= ? AND start < ?'),
    hour: db.prepare('SELECT body FROM hour WHERE series = ? AND start = ?'),
    hours: db.prepare(
      'SELECT start, count, low, high, sum, body FROM hour WHERE series = ? AND start >= ? AND start < ? ORDER BY start'
    ),
    lastHour: db.prepare(
      'SELECT start, body FROM hour WHERE series = ? AND body IS NOT NULL ORDER BY start DESC LIMIT 1'
    ),
    setHour: db.prepare('INSERT OR REPLACE INTO hour VALUES (?, ?, ?, ?, ?, ?, ?)'),
    oldestHour: db.prepare('SELECT min(start) AS start FROM hour WHERE start >= ?'),
    dropBodies: db.prepare('UPDATE hour SET body = NULL WHERE start = ?'),
    dropHours: db.prepare('DELETE FROM hour WHERE start = ?')
  };
}

exports.FILE = FILE;
exports.SeriesDatabase = SeriesDatabase;
