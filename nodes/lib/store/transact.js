'use strict';

/** @typedef {import('node:sqlite').DatabaseSync} Db */

/**
 * Runs work in a transaction. After an error nothing of it remains, unless COMMIT itself failed.
 * @template T
 * @param {Db} db
 * @param {() => T} work
 * @returns {T}
 */
function transact(db, work) {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Rolls back after a failure; SQLite may have done it already. @param {Db} db */
function rollBack(db) {
  try {
    if (db.isTransaction) db.exec('ROLLBACK');
  } catch {
    // The connection is renewed before it is used again.
  }
}

module.exports = { rollBack, transact };
