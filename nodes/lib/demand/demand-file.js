'use strict';
// The file of questions and owed restores, <folder of the engine's log>/demand.db. It has one owner at a time:
// Node-RED's thread reads it at the start and closes it, and the thread of the questions writes it (demand-worker.js).

const fs = require('node:fs');
const path = require('node:path');
const { setAside } = require('../store/log-folder');
const { isDamage } = require('../store/log-reasons');
const { closeDatabase, openDatabase, transact } = require('../store/open-database');

const FILE = 'demand.db';
/** "SGM1" */
const APPLICATION_ID = 0x53474d31;
const SCHEMA = `
  CREATE TABLE question (device TEXT NOT NULL, asker TEXT NOT NULL, every_ms INTEGER NOT NULL, for_ms INTEGER NOT NULL,
    ends_at INTEGER NOT NULL, PRIMARY KEY (device, asker)) WITHOUT ROWID;
  CREATE TABLE restore (device TEXT PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL,
    since INTEGER NOT NULL) WITHOUT ROWID`;

/** @type {import('../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: [SCHEMA],
  foreign: () => new Error('it is the database of another program'),
  newer: () => new Error('a newer version of the gateway wrote it'),
  isExclusive: true,
  checksPages: true,
  pragmas: 'PRAGMA journal_size_limit = 1048576'
};

/** The changes, by name. */
const SQL = {
  putQuestion: 'INSERT OR REPLACE INTO question VALUES (?, ?, ?, ?, ?)',
  putRestore: 'INSERT OR REPLACE INTO restore VALUES (?, ?, ?, ?)',
  removeQuestion: 'DELETE FROM question WHERE device = ? AND asker = ?',
  removeRestore: 'DELETE FROM restore WHERE device = ?'
};

/**
 * @typedef {import('node:sqlite').DatabaseSync} Db
 *
 * @typedef {object} StoredQuestion
 * @property {string} device
 * @property {string} by
 * @property {number} everyMs
 * @property {number} forMs
 * @property {number} endsAt ms since 1970
 *
 * What must be sent to a device before it has its normal rate again.
 * @typedef {{ device: string, topic: string, payload: Buffer, since: number }} Restore
 *
 * @typedef {{ name: keyof typeof SQL, values: import('node:sqlite').SQLInputValue[] }} Change
 */

/** Thrown by write(): what the file had is not in it any more. */
class LostFile extends Error {
  isLost = true;
}

class DemandFile {
  #directory;
  /** @type {Db | null} */
  #db = null;
  /** Of the open file. */
  #inode = 0;
  /** @type {ReturnType<typeof statementsOf> | null} */
  #statements = null;

  /** @param {string} directory */
  constructor(directory) {
    this.#directory = directory;
    this.path = path.join(directory, FILE);
  }

  /**
   * Returns what earlier runs stored. Opens nothing if there is no file.
   * @returns {{ questions: StoredQuestion[], restores: Restore[] }}
   * @throws {Error} if the file cannot be read; it is closed then
   */
  load() {
    if (!fs.existsSync(this.path)) return { questions: [], restores: [] };
    try {
      this.#open();
      const db = /** @type {Db} */ (this.#db);
      const questions = db.prepare(
        'SELECT device, asker AS by, every_ms AS everyMs, for_ms AS forMs, ends_at AS endsAt FROM question'
      );
      const restores = db.prepare('SELECT device, topic, payload, since FROM restore');
      return {
        questions: /** @type {any[]} */ (questions.all()),
        restores: /** @type {any[]} */ (restores.all()).map((row) => ({
          ...row,
          payload: Buffer.from(row.payload)
        }))
      };
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * Writes changes in their order, in one transaction, which is on disk when this returns.
   * @param {Change[]} changes
   * @throws {LostFile} if a new file begins: what must be in it has to be written again
   * @throws {Error} if that is not so, or unknown
   */
  write(changes) {
    try {
      if (this.#db && inodeOf(this.path) !== this.#inode) throw new LostFile('the file was moved or deleted');
      const statements = this.#open();
      transact(/** @type {Db} */ (this.#db), () => {
        for (const { name, values } of changes) statements[name].run(...values);
      });
    } catch (error) {
      throw this.#failed(error);
    }
  }

  close() {
    closeDatabase(this.#db);
    this.#db = null;
    this.#statements = null;
  }

  #open() {
    if (this.#statements) return this.#statements;
    const { db, made } = openDatabase(this.path, KIND, statementsOf);
    this.#db = db;
    this.#inode = inodeOf(this.path);
    this.#statements = made;
    return made;
  }

  /** Closes the connection, whose state is unknown. @param {unknown} error @returns {Error} */
  #failed(error) {
    this.close();
    if (error instanceof LostFile) return error;
    const { message } = /** @type {Error} */ (error);
    if (!isDamage(/** @type {any} */ (error))) return new Error(message);
    try {
      const aside = path.basename(setAside(this.#directory, new Date(), FILE));
      return new LostFile(`${message}; the file was renamed to ${aside}`);
    } catch {
      return new Error(message);
    }
  }
}

/** @param {string} file @returns {number} 0 = there is none */
function inodeOf(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.ino ?? 0;
}

/** @param {Db} db */
function statementsOf(db) {
  return {
    putQuestion: db.prepare(SQL.putQuestion),
    putRestore: db.prepare(SQL.putRestore),
    removeQuestion: db.prepare(SQL.removeQuestion),
    removeRestore: db.prepare(SQL.removeRestore)
  };
}

module.exports = { DemandFile, LostFile };
