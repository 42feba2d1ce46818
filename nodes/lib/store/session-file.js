'use strict';
// The MQTT sessions of devices on disk: <folder of the log>/sessions.db, an SQLite database
// (docs/reference/log-format.md). SessionFile throws every error, and SessionStore handles it.

const path = require('node:path');
const { setAside } = require('./log-folder');
const { Refusal, damage } = require('./log-reasons');
const { closeDatabase, openDatabase, transact } = require('./open-database');

const FILE = 'sessions.db';
/** "SGS1": distinguishes our database from those of other programs. */
const APPLICATION_ID = 0x53475331;
/** What each version adds to the one before it. A file of a later version is not read. */
const VERSIONS = [
  `CREATE TABLE session (device TEXT PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;
   CREATE TABLE damaged (device TEXT PRIMARY KEY, at INTEGER NOT NULL, row BLOB NOT NULL) WITHOUT ROWID;
   CREATE TABLE run (key INTEGER PRIMARY KEY CHECK (key = 1), ended_in_order INTEGER NOT NULL);
   INSERT INTO run VALUES (1, 0);`
];
/** Damaged rows that are kept for an examination; the oldest are deleted. */
const MOST_DAMAGED = 1000;
const JOURNAL_LIMIT = 1 << 20;

/** @type {import('./open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: VERSIONS,
  foreign: (file) =>
    new Refusal(
      'FOREIGN',
      `${FILE} in ${path.dirname(file)} is the database of another program; it was not changed.`
    ),
  // It is set aside: devices make their sessions again.
  newer: (_file, version) => damage(`a later version of the gateway wrote it (format ${version})`),
  isExclusive: true,
  rewritesWal: true,
  checksPages: true,
  pragmas: `PRAGMA journal_size_limit = ${JOURNAL_LIMIT}`
};

/** @typedef {{ device: string, row: Uint8Array | null }} Write row null: delete the session */

class SessionFile {
  #db;
  #statements;

  /**
   * Opens the file, and creates it if necessary.
   * @param {string} directory absolute
   */
  constructor(directory) {
    const { db, made } = openDatabase(path.join(directory, FILE), KIND, prepare);
    this.#db = db;
    this.#statements = made;
  }

  /**
   * Begins a run. Its first commit marks it as not ended, because what the last run knew exactly is no longer true
   * after the first packet of a device.
   * @returns {boolean} true if the last run ended in order
   */
  begin() {
    const isExact = Number(this.#statements.order.get()?.yes) === 1;
    if (isExact) transact(this.#db, () => this.#statements.setOrder.run(0));
    return isExact;
  }

  /**
   * @param {string} after device
   * @param {number} most
   * @returns {{ device: string, row: Uint8Array }[]} rows in the order of their devices
   */
  page(after, most) {
    return /** @type {any} */ (this.#statements.page.all(after, most));
  }

  /**
   * Commits changes.
   * @param {Write[]} writes
   * @param {{ isLast?: boolean }} [options] isLast: the run ends in order, and these are its last changes
   */
  write(writes, { isLast = false } = {}) {
    const { put, remove, setOrder } = this.#statements;
    transact(this.#db, () => {
      for (const { device, row } of writes) row ? put.run(device, row) : remove.run(device);
      if (isLast) setOrder.run(1);
    });
  }

  /**
   * Deletes rows, and keeps those that are damaged in a table of their own.
   * @param {string[]} gone
   * @param {string[]} damaged
   */
  drop(gone, damaged) {
    const { remove, keep, trim } = this.#statements;
    transact(this.#db, () => {
      const at = Date.now();
      for (const device of damaged) keep.run(at, device);
      for (const device of [...gone, ...damaged]) remove.run(device);
      if (damaged.length > 0) trim.run(MOST_DAMAGED);
    });
  }

  /** Deletes all sessions. */
  clear() {
    transact(this.#db, () => this.#statements.clear.run());
  }

  /** Closes the file. Never throws. */
  close() {
    closeDatabase(this.#db);
  }
}

/** @param {import('node:sqlite').DatabaseSync} db */
function prepare(db) {
  return {
    put: db.prepare('INSERT OR REPLACE INTO session VALUES (?, ?)'),
    remove: db.prepare('DELETE FROM session WHERE device = ?'),
    clear: db.prepare('DELETE FROM session'),
    page: db.prepare('SELECT device, row FROM session WHERE device > ? ORDER BY device LIMIT ?'),
    keep: db.prepare('INSERT OR REPLACE INTO damaged SELECT device, ?, row FROM session WHERE device = ?'),
    trim: db.prepare(
      'DELETE FROM damaged WHERE device NOT IN (SELECT device FROM damaged ORDER BY at DESC LIMIT ?)'
    ),
    order: db.prepare('SELECT ended_in_order AS yes FROM run WHERE key = 1'),
    setOrder: db.prepare('UPDATE run SET ended_in_order = ? WHERE key = 1')
  };
}

/** @param {string} directory @returns {string} the new name of the unusable file */
function setSessionsAside(directory) {
  return path.basename(setAside(directory, new Date(), FILE));
}

exports.SessionFile = SessionFile;
exports.setSessionsAside = setSessionsAside;
