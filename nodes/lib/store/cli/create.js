'use strict';

const fs = require('node:fs');
const { APPLICATION_ID, SCHEMA, USER_VERSION } = require('../log-schema');
const { rollBack } = require('../transact');
const { loadSqlite } = require('./sqlite');

/**
 * Creates an empty log in the gateway's format, in one transaction that includes `fill`.
 * @template T
 * @param {string} file that does not exist yet
 * @param {(db: import('node:sqlite').DatabaseSync) => T} fill
 * @returns {T}
 */
function createLog(file, fill) {
  fs.closeSync(fs.openSync(file, 'wx', 0o600));
  const { DatabaseSync } = loadSqlite();
  const db = new DatabaseSync(file);
  try {
    db.exec(`PRAGMA synchronous = FULL; PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; BEGIN EXCLUSIVE;
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${USER_VERSION}; ${SCHEMA}`);
    const result = fill(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    // The file was created here and is not a log yet, so no other process can be using it.
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    db.close();
  }
}

module.exports = { createLog };
