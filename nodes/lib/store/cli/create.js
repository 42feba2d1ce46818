'use strict';

const fs = require('node:fs');
const { APPLICATION_ID, SCHEMA, USER_VERSION } = require('../log-schema');
const { rollBack } = require('./rows');
const { loadSqlite } = require('./sqlite');

/**
 * An empty log, as the gateway makes it, within one transaction that `fill` belongs to.
 * @template T @param {string} file that is not there yet
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
    // Our own, and not yet a log: nobody else can have begun to use it.
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    db.close();
  }
}

/** A name is on disk when its folder was synced. @param {string} directory */
function syncDirectory(directory) {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { createLog, syncDirectory };
