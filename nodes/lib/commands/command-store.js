'use strict';
// Stores commands that wait for their device in <folder of the log>/commands.db. All changes of one turn of the event
// loop are one transaction, so a burst costs one sync. Commands are rare, and records are not stored here.

const fs = require('node:fs');
const path = require('node:path');
const { copyDatabase } = require('../store/database-copy');
const { setAside } = require('../store/log-folder');
const { isDamage } = require('../store/log-reasons');
const { closeDatabase, openDatabase, transact } = require('../store/open-database');
const { PendingChanges } = require('./pending-changes');

const FILE = 'commands.db';
/** "SGC1": distinguishes our database from those of other programs. */
const APPLICATION_ID = 0x53474331;
const SCHEMA = `CREATE TABLE command (row INTEGER PRIMARY KEY, id TEXT NOT NULL, device TEXT NOT NULL, topic TEXT NOT NULL,
  qos INTEGER NOT NULL, expires_at INTEGER NOT NULL, origin TEXT, correlation BLOB, payload BLOB NOT NULL)`;
/** Interval of the warning about a full disk. */
const SAY_AGAIN_MS = 60000;

/** @type {import('../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: [SCHEMA],
  foreign: () => new Error('it is the database of another program'),
  newer: () => new Error('a newer version of the gateway wrote it'),
  isExclusive: true,
  // The file has at most about 16 MiB. Without the check, a truncated row reads as NULLs.
  checksPages: true,
  pragmas: 'PRAGMA journal_size_limit = 1048576'
};

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {import('./command').Command} Command */
/** @typedef {import('./pending-changes').Addition} Addition */

class CommandStore {
  #directory;
  #file;
  #warn;
  #now;
  #saidAt;
  /** True if the commands of earlier runs were read, or can never be read. */
  #isRead;
  /** Commands of earlier runs, until load() returns them. @type {{ row: number, command: Command }[]} */
  #found;
  #pending;
  /** Rows of a commit that failed. They may be on disk all the same. @type {{ row: number, id: string }[]} */
  #refused;

  /**
   * @param {string} directory created when the first command is stored
   * @param {(sentence: string) => void} warn
   * @param {() => number} [now] ms
   */
  constructor(directory, warn, now = () => performance.now()) {
    this.#directory = directory;
    this.#file = path.join(directory, FILE);
    this.#warn = warn;
    this.#now = now;
    this.#saidAt = -Infinity;
    /** @type {DatabaseSync | null} */
    this.db = null;
    this.lastRow = 0;
    this.#isRead = false;
    this.#found = [];
    this.#pending = new PendingChanges(() => this.flush());
    this.#refused = [];
  }

  /**
   * Returns the commands that earlier runs stored, in order, each once. An unusable file is reported and not deleted. A
   * file that another program has locked, or that cannot be read now, is read by a later call.
   * @returns {{ row: number, command: Command }[]}
   */
  load() {
    try {
      if (!this.#isRead && fs.existsSync(this.#file)) this.#open();
      this.#isRead = true;
    } catch (error) {
      this.#failed(error);
    }
    return this.#found.splice(0);
  }

  /**
   * @param {Command} command
   * @param {Addition['done']} done called when the command is on disk, or cannot be stored
   */
  add(command, done) {
    this.#pending.add(command, done);
  }

  /** @param {number} row */
  remove(row) {
    this.#pending.remove(row);
  }

  /** Commits pending changes. */
  flush() {
    const changes = this.#pending.take();
    if (!changes) return;
    const { additions, removals } = changes;
    /** @type {number[]} */
    let rows = [];
    /** @type {Error | null} */
    let failure = null;
    try {
      rows = this.#write(additions, removals);
    } catch (error) {
      failure = this.#failed(error);
      if (!isDamage(error)) this.#pending.putBack(removals);
    }
    additions.forEach(({ done }, i) => done(failure, rows[i] ?? 0));
  }

  /**
   * Copies the stored commands into a new file.
   * @param {string} file absolute; must not exist
   * @returns {Promise<boolean>} false: no command was ever stored, so there is no file
   */
  async backup(file) {
    this.flush();
    if (!fs.existsSync(this.#file)) return false;
    await copyDatabase(this.#open(), file);
    return true;
  }

  close() {
    this.flush();
    // The next run would send them.
    if (this.#refused.length > 0) this.#tryToOpen();
    this.#closeDatabase();
  }

  #tryToOpen() {
    try {
      this.#open();
    } catch (error) {
      this.#failed(error);
    }
  }

  #closeDatabase() {
    closeDatabase(this.db);
    this.db = null;
  }

  /**
   * @param {Addition[]} additions
   * @param {number[]} removals
   * @returns {number[]} rows of the additions
   */
  #write(additions, removals) {
    const db = this.#open();
    const first = this.lastRow + 1;
    try {
      return transact(db, () => {
        const remove = db.prepare('DELETE FROM command WHERE row = ?');
        for (const row of removals) remove.run(row);
        const insert = db.prepare('INSERT INTO command VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
        return additions.map(({ command }) => {
          insert.run(++this.lastRow, ...toRow(command));
          return this.lastRow;
        });
      });
    } catch (error) {
      for (let row = first; row <= this.lastRow; row++)
        this.#refused.push({ row, id: additions[row - first].command.id });
      throw error;
    }
  }

  /** Deletes commands whose senders were told that they are not stored. @param {DatabaseSync} db */
  #deleteRefused(db) {
    if (this.#refused.length === 0) return;
    transact(db, () => {
      const remove = db.prepare('DELETE FROM command WHERE row = ? AND id = ?');
      for (const { row, id } of this.#refused) remove.run(row, id);
    });
    this.#refused = [];
  }

  #open() {
    if (this.db) return this.db;
    this.db = openDatabase(this.#file, KIND, (db) => this.#read(db)).db;
    return this.db;
  }

  /** @param {DatabaseSync} db that was just opened */
  #read(db) {
    this.#deleteRefused(db);
    const { row } = db.prepare('SELECT ifnull(max(row), 0) AS row FROM command').get() ?? {};
    // Never reuse a row number whose removal may be pending.
    this.lastRow = Math.max(this.lastRow, Number(row));
    // Before this run adds rows.
    if (!this.#isRead) this.#found = db.prepare('SELECT * FROM command ORDER BY row').all().map(fromRow);
    this.#isRead = true;
  }

  /**
   * Closes the connection after a failure, because its state is unknown. The next use opens a new one.
   * @param {any} error
   * @returns {Error}
   */
  #failed(error) {
    const what = `The commands in ${this.#file} cannot be ${this.db ? 'written' : 'opened'} (${error?.message}).`;
    this.#closeDatabase();
    const aside = isDamage(error) ? this.#setAside() : '';
    if (aside !== '') {
      this.#warn(`${what} The file was renamed to ${aside}, and a new one is created.`);
    } else if (this.#now() - this.#saidAt >= SAY_AGAIN_MS) {
      this.#saidAt = this.#now();
      this.#warn(`${what} Commands for disconnected devices are refused until this works again.`);
    }
    return error instanceof Error ? error : new Error(String(error));
  }

  /** @returns {string} the new name of the file, '' if it could not be renamed */
  #setAside() {
    // A later attempt could not read it either.
    this.#isRead = true;
    this.#refused = [];
    try {
      return path.basename(setAside(this.#directory, new Date(), FILE));
    } catch {
      return '';
    }
  }
}

/**
 * @param {Command} command
 * @returns {import('node:sqlite').SQLInputValue[]}
 */
function toRow({ id, device, topic, qos, expiresAt, origin, payload }) {
  const { correlation = null, ...rest } = origin ?? {};
  return [id, device, topic, qos, expiresAt, origin && JSON.stringify(rest), correlation, payload];
}

/** @param {Record<string, any>} stored */
function fromRow({ row, id, device, topic, qos, expires_at: expiresAt, origin, correlation, payload }) {
  /** @type {Command['origin']} */
  const from = origin && JSON.parse(origin);
  if (from && correlation) from.correlation = Buffer.from(correlation);
  return { row, command: { id, device, topic, qos, expiresAt, origin: from, payload: Buffer.from(payload) } };
}

exports.CommandStore = CommandStore;
exports.fromRow = fromRow;
exports.toRow = toRow;
