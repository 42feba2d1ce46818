'use strict';
// Rows whose number no log contains: below 0, or beyond 2^53. A changed bit can make one. The gateway would never send
// such a chunk.

const path = require('node:path');
const { isDamage } = require('./sqlite');
const { plural } = require('../../base/cli/cli-output');
const { openToRead, openToWrite } = require('./open');
const { rollBack } = require('../transact');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */

const TABLES = /** @type {const} */ (['chunk', 'dead', 'quarantine']);
const HIGHEST = Number.MAX_SAFE_INTEGER;

/** @param {DatabaseSync} db @param {string} table @returns {bigint[]} */
function wildIn(db, table) {
  const statement = db.prepare(
    `SELECT id FROM ${table} WHERE id < 0 UNION ALL SELECT id FROM ${table} WHERE id > ?`
  );
  statement.setReadBigInts(true);
  return statement.all(HIGHEST).map(({ id }) => /** @type {bigint} */ (id));
}

/**
 * @param {DatabaseSync} db
 * @returns {string[]} a fault for each table with such rows; none if the database cannot be read: another fault
 */
function wildRows(db) {
  try {
    return TABLES.flatMap((table) => {
      const { length } = wildIn(db, table);
      return length === 0 ? [] : [`${plural(length, 'row')} of ${table} with a number that no log contains`];
    });
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [];
  }
}

/**
 * Gives such rows the numbers behind the last one, so that they are sent last.
 * @param {DatabaseSync} db open to write
 * @returns {boolean} false: the database is damaged elsewhere, too, and was not changed
 */
function renumber(db) {
  db.exec('BEGIN IMMEDIATE');
  try {
    // Damage hits the row or its entry in the index. SQLite changes no row whose entry differs.
    db.exec('REINDEX chunk_lane');
    const highest = TABLES.map((table) =>
      Number(
        db.prepare(`SELECT ifnull(max(id), 0) AS id FROM ${table} WHERE id BETWEEN 0 AND ?`).get(HIGHEST)?.id
      )
    );
    let next = Math.max(...highest) + 1;
    for (const table of TABLES) {
      const update = db.prepare(`UPDATE ${table} SET id = ? WHERE id = ?`);
      for (const id of wildIn(db, table)) update.run(next++, id);
    }
    db.exec('COMMIT');
    return true;
  } catch (error) {
    rollBack(db);
    if (!isDamage(error)) throw error;
    return false;
  }
}

/**
 * Renumbers such rows of a file, if it has any.
 * @param {DatabaseSync} db the file, open to read; is closed if the result is another one
 * @param {string} file
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {Promise<{ db: DatabaseSync, isRenumbered: boolean }>} db: open to read
 */
async function renumbered(db, file, output) {
  const wild = wildRows(db);
  if (wild.length === 0) return { db, isRenumbered: false };
  db.close();
  const writable = openToWrite(file);
  let isRenumbered;
  try {
    isRenumbered = renumber(writable);
  } finally {
    writable.close();
  }
  const verb = isRenumbered ? 'renumbered' : 'could not renumber';
  for (const fault of wild) await output.line(`${path.basename(file)}: ${verb} ${fault}`);
  return { db: openToRead(file), isRenumbered };
}

module.exports = { renumbered, wildRows };
