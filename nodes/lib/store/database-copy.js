'use strict';
// Copies an SQLite database while its connection is in use.

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { backup } = require('./sqlite');

/** Pages of one step. The connection can commit between two steps. */
const STEP_PAGES = 256;
/** For a database that other connections write: SQLite begins again if one of them has committed between two steps. */
const ALL_PAGES = 0x7fffffff;
const TRIES = 100;
const RETRY_MS = 20;
/**
 * SQLite's primary result codes BUSY and LOCKED: a transaction was open at the first step. Node.js 24 reports it with
 * code 0, "not an error", as it asks the connection of the new file.
 */
const IN_USE = [0, 5, 6];

/**
 * Copies all of a database into a new file with SQLite's backup API. The copy contains every commit made through `db`
 * before this call, and those made meanwhile through the same connection. The last step syncs the copy.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {string} file must not exist; a failed copy removes it
 * @param {() => boolean} [isCanceled] asked between two steps; true ends the copy with an error
 * @param {number} [rate] pages of one step
 * @returns {Promise<void>}
 * @throws {Error} of SQLite, for example if the disk is full or `db` is closed meanwhile
 */
async function copyDatabase(db, file, isCanceled = () => false, rate = STEP_PAGES) {
  const progress = () => {
    if (isCanceled()) throw new Error('The copy was canceled.');
  };
  for (let tries = 1; ; tries++) {
    try {
      await backup(db, file, { rate, progress });
      return;
    } catch (error) {
      for (const suffix of ['', '-journal', '-wal', '-shm']) fs.rmSync(file + suffix, { force: true });
      const { errcode = 1 } = /** @type {{ errcode?: number }} */ (error);
      if (tries === TRIES || isCanceled() || !IN_USE.includes(errcode & 0xff)) throw error;
      await sleep(RETRY_MS);
    }
  }
}

module.exports = { ALL_PAGES, copyDatabase };
