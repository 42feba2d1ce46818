'use strict';
// Opens <folder>/directory.db, and explains why it does not open or cannot be written.

const fs = require('node:fs');
const path = require('node:path');
const { shown } = require('../base/values');
const { prepareFile } = require('../store/log-folder');
const { isDamage, isFull } = require('../store/log-reasons');
const opening = require('../store/open-database');

const FILE = 'directory.db';
/** "Ssnd". */
const APPLICATION_ID = 0x53736e64;

// thing.origin: 'made' from a device, or 'posted' by the API. thing.source: which source made it. thing.revision: a
// number that increases with every change of any thing. fact: what questions look for. meta: the revision, and the
// version of the terms in fact.
const SCHEMA = `
CREATE TABLE thing (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL,
  source TEXT NOT NULL, td TEXT NOT NULL, facts TEXT NOT NULL, created INTEGER NOT NULL, modified INTEGER NOT NULL,
  ttl REAL, expires INTEGER, seen INTEGER NOT NULL, revision INTEGER NOT NULL) STRICT;
CREATE INDEX thing_expires ON thing (expires) WHERE expires IS NOT NULL;
CREATE INDEX thing_source ON thing (source, seen);
CREATE TABLE fact (kind TEXT NOT NULL, term TEXT NOT NULL, thing INTEGER NOT NULL,
  PRIMARY KEY (kind, term, thing)) STRICT, WITHOUT ROWID;
CREATE INDEX fact_thing ON fact (thing);
CREATE VIRTUAL TABLE thing_text USING fts5(words);
CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, thing TEXT NOT NULL,
  data TEXT NOT NULL) STRICT;
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** @typedef {import('node:sqlite').DatabaseSync} Database */

/** Why the database is not used: a sentence with a remedy. */
class DatabaseRefusal extends Error {}

/** @param {string} file @param {string} what @param {string} remedy */
const refusal = (file, what, remedy) =>
  new DatabaseRefusal(`${shown(file)} ${what}; it was not changed. ${remedy}`);

/**
 * @param {number} first what the ids of events, and the revisions, of a new file follow. Clients that know those of a
 *   file that was set aside must neither wait for them nor take new ones for old ones.
 * @returns {import('../store/open-database').Kind}
 */
const kind = (first) => ({
  applicationId: APPLICATION_ID,
  versions: [
    `${SCHEMA}
     INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ${first});
     INSERT INTO meta VALUES ('revision', ${first});`
  ],
  foreign: (file) => refusal(file, 'is the database of another program', 'Choose another folder.'),
  newer: (file, version) =>
    refusal(
      file,
      `was written by a newer version of the gateway (format ${version}, this one reads 1)`,
      'Use that version, or choose another folder.'
    ),
  // For the search thread, and for a backup.
  busyMs: 2000,
  pragmas: 'PRAGMA cell_size_check = ON'
});

/**
 * @param {string} directory absolute
 * @param {number} [least] the numbers of a new file begin above this one
 * @returns {Database}
 * @throws {DatabaseRefusal}, or an error of SQLite or the file system
 */
function openDatabase(directory, least = 0) {
  const file = path.join(directory, FILE);
  prepareFile(file);
  return opening.openDatabase(file, kind(Math.max(least, Date.now())), () => null).db;
}

/**
 * Renames a damaged database and its WAL, which may have what the database lacks, so that a new one can be made.
 * @param {string} directory
 * @param {import('../store/reopening').Reopening} reopening of the file
 * @returns {string} the new name
 */
function setAside(directory, reopening) {
  const aside = reopening.setAside();
  // The index of the WAL. The search thread may still use that of the old file, which the new one must not share.
  fs.rmSync(path.join(directory, `${FILE}-shm`), { force: true });
  return aside;
}

/**
 * @param {any} error
 * @param {string} directory
 * @returns {string} a sentence with a remedy
 */
function explain(error, directory) {
  const where = shown(directory);
  if (error instanceof DatabaseRefusal) return error.message;
  if (isFull(error))
    return `The disk of the directory (${where}) is full. Free space on it; the node then continues on its own.`;
  if (['EACCES', 'EPERM', 'EROFS'].includes(error?.code))
    return `The gateway may not write to the folder of the directory (${where}). Grant its user write access, or choose another folder.`;
  if (['ENOTDIR', 'EEXIST', 'EISDIR'].includes(error?.code))
    return `The folder of the directory (${where}) is not a folder. Choose another one.`;
  return `The directory in ${where} cannot be used (${shown(String(error?.message ?? error))}). Check the disk and the permissions of the folder; the node tries again on its own.`;
}

module.exports = { FILE, explain, isDamage, openDatabase, setAside };
