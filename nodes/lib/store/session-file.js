'use strict';
// The MQTT sessions of devices on disk: <folder of the log>/sessions.db, an SQLite database
// (docs/reference/log-format.md). SessionFile throws every error, and SessionStore handles it.

const fs = require('node:fs');
const path = require('node:path');
const { makeFolder, rewriteWal, setAside, syncDirectory } = require('./log-folder');
const { Refusal } = require('./log-reasons');
const { DatabaseSync } = require('./sqlite');

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
const CORRUPT = 11;
/** Damaged rows that are kept for an examination; the oldest are deleted. */
const MOST_DAMAGED = 1000;
const JOURNAL_LIMIT = 1 << 20;

/** @typedef {{ device: string, row: Uint8Array | null }} Write row null: delete the session */

class SessionFile {
  #db;
  #statements;

  /**
   * Opens the file, and creates it if necessary.
   * @param {string} directory absolute
   */
  constructor(directory) {
    makeFolder(directory);
    const file = path.join(directory, FILE);
    const isNew = !fs.existsSync(file);
    // Readable by the gateway's user only. SQLite gives the WAL the same mode.
    if (isNew) fs.closeSync(fs.openSync(file, 'wx', 0o600));
    const db = new DatabaseSync(file, { timeout: 0 });
    try {
      setUp(db, directory);
      this.#statements = {
        put: db.prepare('INSERT OR REPLACE INTO session VALUES (?, ?)'),
        remove: db.prepare('DELETE FROM session WHERE device = ?'),
        clear: db.prepare('DELETE FROM session'),
        page: db.prepare('SELECT device, row FROM session WHERE device > ? ORDER BY device LIMIT ?'),
        keep: db.prepare(
          'INSERT OR REPLACE INTO damaged SELECT device, ?, row FROM session WHERE device = ?'
        ),
        trim: db.prepare(
          'DELETE FROM damaged WHERE device NOT IN (SELECT device FROM damaged ORDER BY at DESC LIMIT ?)'
        ),
        order: db.prepare('SELECT ended_in_order AS yes FROM run WHERE key = 1'),
        setOrder: db.prepare('UPDATE run SET ended_in_order = ? WHERE key = 1')
      };
    } catch (error) {
      db.close();
      throw error;
    }
    if (isNew) syncDirectory(directory);
    this.#db = db;
  }

  /**
   * Begins a run. Its first commit marks it as not ended, because what the last run knew exactly is no longer true
   * after the first packet of a device.
   * @returns {boolean} true if the last run ended in order
   */
  begin() {
    const isExact = Number(this.#statements.order.get()?.yes) === 1;
    if (isExact) this.#commit(() => this.#statements.setOrder.run(0));
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
    this.#commit(() => {
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
    this.#commit(() => {
      const at = Date.now();
      for (const device of damaged) keep.run(at, device);
      for (const device of [...gone, ...damaged]) remove.run(device);
      if (damaged.length > 0) trim.run(MOST_DAMAGED);
    });
  }

  /** Deletes all sessions. */
  clear() {
    this.#commit(() => this.#statements.clear.run());
  }

  /** Closes the file. Never throws. */
  close() {
    try {
      this.#db.close();
    } catch {
      // The connection is not used again in any case.
    }
  }

  /** @param {() => unknown} change */
  #commit(change) {
    const db = this.#db;
    db.exec('BEGIN IMMEDIATE');
    try {
      change();
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
}

/**
 * @param {DatabaseSync} db
 * @param {string} directory
 */
function setUp(db, directory) {
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;');
  const isEmpty = Number(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n) === 0;
  // The lock is held now. A commit that failed may have left pages of the WAL that are not on disk.
  rewriteWal(directory, FILE);
  const application = pragma(db, 'application_id');
  if (application !== APPLICATION_ID && !(isEmpty && application === 0)) {
    const reason = `${FILE} in ${directory} is the database of another program; it was not changed.`;
    throw new Refusal('FOREIGN', reason);
  }
  const version = pragma(db, 'user_version');
  if (version > VERSIONS.length) throw damage(`a later version of the gateway wrote it (format ${version})`);
  for (let v = version; v < VERSIONS.length; v++) {
    db.exec(`BEGIN EXCLUSIVE; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${v + 1};
      ${VERSIONS[v]} COMMIT;`);
  }
  const check = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
  if (check !== 'ok') throw damage(String(check));
  db.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${JOURNAL_LIMIT};`
  );
}

/** @param {string} why @returns {Error} that isDamage() recognizes */
function damage(why) {
  return Object.assign(new Error(why), { code: 'ERR_SQLITE_ERROR', errcode: CORRUPT });
}

/** @param {DatabaseSync} db @param {string} name @returns {number} */
function pragma(db, name) {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/** @param {string} directory @returns {string} the new name of the unusable file */
function setSessionsAside(directory) {
  return path.basename(setAside(directory, new Date(), FILE));
}

exports.SessionFile = SessionFile;
exports.setSessionsAside = setSessionsAside;
