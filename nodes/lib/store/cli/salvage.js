'use strict';
// Writes a malformed database anew from the rows that can be read.

const fs = require('node:fs');
const path = require('node:path');
const { APPLICATION_ID, SCHEMA, USER_VERSION } = require('../schema');
const { checkRows } = require('./check');
const { writer, transaction } = require('./rows');
const { loadSqlite } = require('./sqlite');
const { EXIT, Trouble } = require('./trouble');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */

const UNREADABLE = 'cannot be read';

/** A file of our own to write into. @param {string} fresh */
function create(fresh) {
  try {
    fs.closeSync(fs.openSync(fresh, 'wx', 0o600));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    throw new Trouble(
      `Another repair is writing ${fresh}, or one was interrupted: then remove that file and run the command again.`,
      EXIT.CANNOT
    );
  }
  const { DatabaseSync } = loadSqlite();
  const db = new DatabaseSync(fresh);
  db.exec('PRAGMA synchronous = FULL; PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;');
  return db;
}

/** @param {ReturnType<typeof writer>} to @param {import('./check').Checked} checked @param {import('./walk').Table} table */
function copyRow(to, { row, body, mended, fault }, table) {
  const { kept = null, rest = null } = mended ?? {};
  if (table === 'chunk' && kept) to.addChunk(row.id, row.node, kept);
  if (table === 'dead' && kept) to.addDead({ ...row, class: kept.class, records: kept.records }, kept.body);
  if (table === 'quarantine') {
    if (kept) to.addChunk(to.idFor(row.id), row.node, kept);
    if (rest || !kept) {
      to.addQuarantine(row, { reason: row.reason, at: row.at, records: row.records, body, ...rest });
    }
  } else if (rest) to.addQuarantine(row, { reason: fault, records: rest.records, body: rest.body });
  else if (!mended) to.addQuarantine(row, { reason: UNREADABLE, records: row.records, body: null });
}

/** @param {DatabaseSync} from @param {DatabaseSync} db @param {import('./output').Output} output */
function copyAll(from, db, output) {
  const to = writer(db);
  for (const table of /** @type {const} */ (['chunk', 'dead', 'quarantine'])) {
    for (const checked of checkRows(from, table, output)) {
      if (!checked.gap) copyRow(to, checked, table);
      else {
        for (const row of checked.gap.known) {
          to.addQuarantine(row, { reason: UNREADABLE, records: row.records, body: null });
        }
      }
    }
  }
}

/** A repair by root must not lock the gateway's user out. @param {string} file @param {string} fresh */
function takeOwner(file, fresh) {
  const { mode, uid, gid } = fs.statSync(file);
  fs.chmodSync(fresh, mode & 0o777);
  if (process.getuid?.() === 0) fs.chownSync(fresh, uid, gid);
}

/** @param {string} directory */
function syncDirectory(directory) {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Puts the new file in the place of the old one. Whenever this is interrupted, the old database or the new one is there.
 * @param {string} file @param {string} fresh @returns {string} the name of the old one
 */
function swap(file, fresh) {
  const old = `${file}.damaged-${new Date().toISOString().replaceAll(':', '-')}`;
  // A second name for the file before the first is taken away; file systems without links get by with less.
  try {
    fs.linkSync(file, old);
  } catch {
    fs.renameSync(file, old);
  }
  // A WAL of the old file must not meet the new one: SQLite would not notice.
  for (const suffix of ['-wal', '-shm']) {
    if (fs.existsSync(file + suffix)) fs.renameSync(file + suffix, old + suffix);
  }
  fs.renameSync(fresh, file);
  syncDirectory(path.dirname(file));
  return old;
}

/**
 * REQUIRES: `from` holds a read transaction on place.file, which keeps gateways out until the new file is in its place.
 * @param {DatabaseSync} from @param {import('./open').Place} place @param {import('./output').Output} output
 * @returns {string} where the old database is now
 */
function salvage(from, { file }, output) {
  const { ino } = fs.statSync(file);
  const fresh = `${file}.repair`;
  const db = create(fresh);
  try {
    transaction(db, () => {
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${USER_VERSION}; ${SCHEMA}`);
      copyAll(from, db, output);
    });
    db.close();
    if (fs.statSync(file).ino !== ino) {
      throw new Trouble(`Another process has replaced ${file} meanwhile. Run verify.`, EXIT.CANNOT);
    }
    takeOwner(file, fresh);
    return swap(file, fresh);
  } catch (error) {
    if (db.isOpen) db.close();
    for (const name of [fresh, `${fresh}-journal`]) fs.rmSync(name, { force: true });
    throw error;
  }
}

module.exports = { salvage };
