'use strict';
// One connection to <folder>/series.db: opening, statements, transactions. It makes no decisions, and throws every
// error.

const fs = require('node:fs');
const path = require('node:path');
const { shown } = require('../base/values');
const { lockFile } = require('../store/lock-file');
const { makeFolder } = require('../store/log-folder');
const { Refusal } = require('../store/log-reasons');
const { checkpoint, closeDatabase, openDatabase, pragma, transact } = require('../store/open-database');

const FILE = 'series.db';
const LOCK_FILE = 'series.lock';
/** "Ssnr". */
const APPLICATION_ID = 0x53736e72;
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

/** @type {import('../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: [SCHEMA],
  foreign: (file) =>
    new Refusal(
      'FOREIGN',
      `${shown(file)} is the database of another program; it was not changed. Choose another folder for the series.`
    ),
  newer: (file, version) =>
    new Refusal(
      'NEWER',
      `${shown(file)} was written by a newer version of the gateway (format ${version}, this one reads 1); it was not changed. Use that version, or choose another folder.`
    ),
  // For readers of other processes, such as a backup.
  busyMs: 2000,
  rewritesWal: true,
  needsWal: true,
  pragmas: `PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = ${AUTO_CHECKPOINT};
    PRAGMA journal_size_limit = ${JOURNAL_LIMIT};`
};

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
    try {
      const { db, made } = openDatabase(this.file, KIND, prepare);
      this.db = db;
      this.statements = made;
    } catch (error) {
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
    return transact(this.db, work);
  }

  /** Moves the pages of the WAL into the database and syncs it. Throws if that fails. */
  checkpoint() {
    checkpoint(this.db, 'TRUNCATE');
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
    closeDatabase(this.db);
    closeDatabase(this.lock);
  }
}

/** Takes the lock of a folder. @param {string} directory */
function lockFolder(directory) {
  const lock = lockFile(path.join(directory, LOCK_FILE));
  if (lock) return lock;
  throw new Refusal(
    'IN_USE',
    `The folder ${shown(directory)} is in use by another series node or process. Give each series node its own folder.`
  );
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
