'use strict';

const { DatabaseSync } = require('../../store/sqlite');

/** Tells whether a database has changed. Reads no tables, and never waits for a lock. */
class DataVersion {
  #file;
  /** @type {InstanceType<typeof DatabaseSync> | null} */
  #db = null;
  /** @type {import('node:sqlite').StatementSync | null} */
  #statement = null;
  /** Connections so far: the numbers of two connections cannot be compared. */
  #connections = 0;
  #isClosed = false;

  /** @param {string} file of a database in WAL mode; opened by the first read() */
  constructor(file) {
    this.#file = file;
  }

  /**
   * Returns a number that changes with each commit, by whomever.
   * @returns {number} NaN: it cannot be read at present
   */
  read() {
    if (this.#isClosed) return NaN;
    try {
      if (!this.#statement) {
        this.#db = new DatabaseSync(this.#file, { readOnly: true, timeout: 0 });
        this.#statement = this.#db.prepare('PRAGMA data_version');
        this.#connections++;
      }
      return this.#connections * 2 ** 32 + Number(this.#statement.get()?.data_version);
    } catch {
      this.reset();
      return NaN;
    }
  }

  close() {
    this.#isClosed = true;
    this.reset();
  }

  /** The next read() opens the file again, which may be another one, and returns another number. */
  reset() {
    this.#db?.close();
    this.#db = this.#statement = null;
  }
}

exports.DataVersion = DataVersion;
