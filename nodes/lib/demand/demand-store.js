'use strict';
// Keeps questions and owed restores in <folder of the engine's log>/demand.db. All changes within LINGER_MS are one
// transaction, so many questions a second cost few syncs. Nothing is opened before the first question.

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
const LINGER_MS = 50;
/** Changes that may wait for a disk that takes none. */
const MAX_WAITING = 4096;

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

/**
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
 * @typedef {{ sql: string, values: import('node:sqlite').SQLInputValue[], done: (error: Error | null) => void }} Change
 */

class DemandStore {
  #directory;
  #file;
  #warn;
  /** @type {import('node:sqlite').DatabaseSync | null} */
  #db = null;
  /** @type {Change[]} */
  #waiting = [];
  /** @type {NodeJS.Timeout | null} */
  #timer = null;

  /** @param {string} directory @param {(sentence: string) => void} warn */
  constructor(directory, warn) {
    this.#directory = directory;
    this.#file = path.join(directory, FILE);
    this.#warn = warn;
  }

  /**
   * Returns what earlier runs stored.
   * @returns {{ questions: StoredQuestion[], restores: Restore[] }}
   */
  load() {
    if (!fs.existsSync(this.#file)) return { questions: [], restores: [] };
    try {
      const db = this.#open();
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
      const { message } = this.#failed(error);
      this.#warn(
        `The questions in ${this.#file} cannot be read (${message}). Devices that were asked to send faster keep that rate until they are asked again.`
      );
      return { questions: [], restores: [] };
    }
  }

  /** True if the disk takes too little. */
  get isFull() {
    return this.#waiting.length >= MAX_WAITING;
  }

  /**
   * Resolves when the question is on disk, with what restores the device if it gets a command.
   * @param {StoredQuestion} question
   * @param {Restore | null} restore
   * @returns {Promise<void>}
   */
  put({ device, by, everyMs, forMs, endsAt }, restore) {
    return new Promise((resolve, reject) => {
      if (restore) {
        const { topic, payload, since } = restore;
        this.#add('INSERT OR REPLACE INTO restore VALUES (?, ?, ?, ?)', [device, topic, payload, since]);
      }
      this.#add(
        'INSERT OR REPLACE INTO question VALUES (?, ?, ?, ?, ?)',
        [device, by, everyMs, forMs, endsAt],
        (error) => (error ? reject(error) : resolve())
      );
    });
  }

  /** @param {string} device @param {string} by */
  remove(device, by) {
    this.#add('DELETE FROM question WHERE device = ? AND asker = ?', [device, by]);
  }

  /** @param {string} device that has its normal rate */
  restored(device) {
    this.#add('DELETE FROM restore WHERE device = ?', [device]);
  }

  close() {
    this.#flush();
    if (this.#timer) clearTimeout(this.#timer);
    closeDatabase(this.#db);
    this.#db = null;
  }

  /** @param {string} sql @param {Change['values']} values @param {Change['done']} [done] */
  #add(sql, values, done = () => {}) {
    this.#waiting.push({ sql, values, done });
    this.#timer ??= setTimeout(() => this.#flush(), LINGER_MS);
  }

  #flush() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const changes = this.#waiting.splice(0);
    if (changes.length === 0) return;
    /** @type {Error | null} */
    let failure = null;
    try {
      const db = this.#open();
      transact(db, () => {
        for (const { sql, values } of changes) db.prepare(sql).run(...values);
      });
    } catch (error) {
      failure = this.#failed(error);
      // A restore too many does no harm, and a question that is over is not loaded. They go with the next change.
      this.#waiting = changes.filter(({ sql }) => sql.startsWith('DELETE')).slice(-MAX_WAITING);
    }
    for (const { done } of changes) done(failure);
  }

  #open() {
    this.#db ??= openDatabase(this.#file, KIND, () => {}).db;
    return this.#db;
  }

  /** Closes the connection, whose state is unknown. @param {unknown} error @returns {Error} */
  #failed(error) {
    closeDatabase(this.#db);
    this.#db = null;
    const { message } = /** @type {Error} */ (error);
    if (!isDamage(/** @type {any} */ (error))) return new Error(message);
    try {
      const aside = path.basename(setAside(this.#directory, new Date(), FILE));
      return new Error(`${message}; the file was renamed to ${aside}`);
    } catch {
      return new Error(message);
    }
  }
}

exports.DemandStore = DemandStore;
