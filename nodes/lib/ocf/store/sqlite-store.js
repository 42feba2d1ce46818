'use strict';
// Accounts and directory in one SQLite file. Writes are collected for some milliseconds and share a commit.

const { openDatabase, rollBack } = require('../../store/open-database');
const { DatabaseSync } = require('../../store/sqlite');
const { CallFigures } = require('./call-figures');
const { GroupCommit, closed } = require('./group-commit');
const { READS, WRITES } = require('./operations');
const { APPLICATION_ID, VERSIONS } = require('./schema');

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {import('./group-commit').Job} Job */

/** ms that SQLite waits for another process, such as seganet-accounts. */
const BUSY_MS = 2000;
const JOURNAL_LIMIT = 16 << 20;

/** @type {import('../../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: VERSIONS.map((sql) => sql.replaceAll('{bytes}', 'BLOB').replaceAll('{keyed}', ' WITHOUT ROWID')),
  foreign: (file) => new Error(`${file} is the database of another program; it was not changed.`),
  newer: (file, version) =>
    new Error(`${file} was written by a later version of the gateway (format ${version}). Update it.`),
  busyMs: BUSY_MS,
  pragmas: `PRAGMA journal_size_limit = ${JOURNAL_LIMIT}`
};

class SqliteStore {
  #db;
  #reader;
  #writes = new GroupCommit((take) => this.#commit(take));
  #isClosed = false;
  #version = 0;
  #figures = new CallFigures();
  /** Commits so far, for tests of the grouping. */
  commits = 0;

  /** Opens the file, and creates it if necessary. @param {string} file absolute */
  constructor(file) {
    // Reads must not see what is not committed yet, so they have a connection of their own.
    const open = () => new Connection(new DatabaseSync(file, { timeout: BUSY_MS, readOnly: true }));
    const { db, made } = openDatabase(file, KIND, open);
    this.#db = db;
    this.#reader = made;
    this.tx = new Connection(db);
    this.#version = this.tx.dataVersion();
  }

  /** @type {import('./operations').Store['read']} */
  read(name, input) {
    return this.#figures.count('read', this.#read(name, input));
  }

  /** @type {import('./operations').Store['read']} */
  async #read(name, input) {
    if (this.#isClosed) throw closed();
    return /** @type {any} */ (READS[name])(this.#reader, input);
  }

  /** @type {import('./operations').Store['write']} */
  write(name, input) {
    return this.#figures.count('write', this.#writes.write(name, input));
  }

  /** @type {import('./operations').Store['takeChanges']} */
  async takeChanges() {
    if (this.#isClosed) return [];
    const before = this.#version;
    this.#version = this.tx.dataVersion();
    return this.#version === before ? [] : 'all';
  }

  /** @type {import('./operations').Store['figures']} */
  figures() {
    return this.#figures.snapshot();
  }

  /** Commits what waits, and closes the file. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writes.close();
    this.#reader.close();
    this.tx.close();
  }

  /** @param {() => Job | undefined} take */
  async #commit(take) {
    /** @type {Job[]} */
    const jobs = [];
    /** @type {(() => void)[]} */
    const outcomes = [];
    const db = this.#db;
    try {
      for (let job = take(); job; job = take()) {
        jobs.push(job);
        if (jobs.length === 1) db.exec('BEGIN IMMEDIATE');
        outcomes.push(await this.#runOne(job));
      }
      db.exec('COMMIT');
      this.commits++;
    } catch (error) {
      rollBack(db);
      for (const { reject } of jobs) reject(/** @type {Error} */ (error));
      return;
    }
    for (const settle of outcomes) settle();
  }

  /**
   * Runs one operation. Its error undoes only its own changes.
   * @param {Job} job
   * @returns {Promise<() => void>} settles its promise
   */
  async #runOne({ name, input, resolve, reject }) {
    const db = this.#db;
    db.exec('SAVEPOINT operation');
    try {
      const result = await /** @type {any} */ (WRITES[name])(this.tx, input);
      db.exec('RELEASE operation');
      return () => resolve(result);
    } catch (error) {
      // After a full disk, SQLite has already undone the whole transaction.
      if (!db.isTransaction) throw error;
      db.exec('ROLLBACK TO operation; RELEASE operation');
      return () => reject(/** @type {Error} */ (error));
    }
  }
}

/** A connection with its prepared statements. @implements {Transaction} */
class Connection {
  #db;
  /** @type {Map<string, import('node:sqlite').StatementSync>} */
  #statements = new Map();

  /** @param {import('node:sqlite').DatabaseSync} db */
  constructor(db) {
    this.#db = db;
  }

  /** @type {Transaction['get']} */
  async get(sql, ...values) {
    return /** @type {any} */ (this.#statement(sql).get(named(values)));
  }

  /** @type {Transaction['all']} */
  async all(sql, ...values) {
    return /** @type {any} */ (this.#statement(sql).all(named(values)));
  }

  /** @type {Transaction['run']} */
  async run(sql, ...values) {
    return Number(this.#statement(sql).run(named(values)).changes);
  }

  /** Returns a number that changes when another connection commits, also one of this process. */
  dataVersion() {
    return Number(this.#statement('PRAGMA data_version').get()?.data_version);
  }

  close() {
    this.#db.close();
  }

  /** @param {string} sql */
  #statement(sql) {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** @param {import('./accounts').Value[]} values @returns {Record<string, import('./accounts').Value>} of $1, $2, … */
function named(values) {
  return Object.fromEntries(values.map((value, i) => [i + 1, value]));
}

exports.SqliteStore = SqliteStore;
