'use strict';
// What identifies a file as a log of the gateway: <directory>/log.db, an SQLite database
// (docs/reference/log-format.md).

const FILE = 'log.db';

/** "SGL1": distinguishes our database from those of other programs. */
const APPLICATION_ID = 0x53474c31;

const SCHEMA = `
CREATE TABLE chunk (id INTEGER PRIMARY KEY, node TEXT NOT NULL, class INTEGER NOT NULL, records INTEGER NOT NULL, bytes INTEGER NOT NULL, first_ts INTEGER NOT NULL, last_ts INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX chunk_lane ON chunk (node, class, id, records, bytes);
CREATE TABLE dead (id INTEGER PRIMARY KEY, node TEXT NOT NULL, class INTEGER NOT NULL, at INTEGER NOT NULL, code INTEGER NOT NULL, reason TEXT NOT NULL, records INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE quarantine (id INTEGER PRIMARY KEY, node TEXT NOT NULL, class INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, records INTEGER NOT NULL, body BLOB);
`;

/**
 * What each version adds to the one before it. There is a new one when an older program could no longer read the
 * database. A newer database is never changed. 2: records may end with a stamp.
 */
const VERSIONS = [SCHEMA, ''];
const USER_VERSION = VERSIONS.length;

/** @param {string} table @param {string} columns */
const insert = (table, columns) =>
  `INSERT INTO ${table} (${columns}) VALUES (${columns.replace(/\w+/g, '?')})`;

/** Adds a row; the values are in the order of the columns. */
const INSERT = {
  chunk: insert('chunk', 'id, node, class, records, bytes, first_ts, last_ts, body'),
  dead: insert('dead', 'id, node, class, at, code, reason, records, body'),
  quarantine: insert('quarantine', 'id, node, class, at, reason, records, body')
};

module.exports = { FILE, APPLICATION_ID, USER_VERSION, VERSIONS, SCHEMA, INSERT };
