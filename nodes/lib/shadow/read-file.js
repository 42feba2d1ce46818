'use strict';
// A second connection to the file of shadows, which only reads, and never waits for a commit. SQLite shows a commit to
// other connections after its sync (WAL, synchronous = FULL), so what is read here is on disk.

const path = require('node:path');
const { closeDatabase } = require('../store/open-database');
const { DatabaseSync } = require('../store/sqlite');
const { Refusal } = require('./refusal');
const { FILE, readsOf } = require('./shadow-file');

/** The file cannot be read by this connection. The owner of the file must be asked, which knows why, or opens it. */
class Unreadable extends Error {}

class ReadFile {
  #file;
  #gate;
  /** Number of the gate when the connection was opened. */
  #number = 0;
  /** @type {import('node:sqlite').DatabaseSync | null} */
  #db = null;
  /** @type {ReturnType<typeof readsOf> | null} */
  #statements = null;

  /** @param {string} directory @param {import('./gate').Gate} gate */
  constructor(directory, gate) {
    this.#file = path.join(directory, FILE);
    this.#gate = gate;
  }

  /**
   * Runs work with the open file.
   * @template T
   * @param {(statements: ReturnType<typeof readsOf>) => T} work
   * @returns {T}
   * @throws {Refusal | Unreadable}
   */
  use(work) {
    const { number } = this.#gate;
    if (number !== this.#number) this.close();
    if (number === 0) throw new Unreadable('the file is not open');
    try {
      this.#statements ??= this.#open(number);
      return work(this.#statements);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.close();
      throw new Unreadable(/** @type {Error} */ (error).message);
    }
  }

  close() {
    closeDatabase(this.#db);
    this.#db = this.#statements = null;
    this.#number = 0;
  }

  /** @param {number} number */
  #open(number) {
    this.#db = new DatabaseSync(this.#file, { readOnly: true, enableForeignKeyConstraints: false });
    this.#db.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF');
    this.#number = number;
    return readsOf(this.#db);
  }
}

exports.ReadFile = ReadFile;
exports.Unreadable = Unreadable;
