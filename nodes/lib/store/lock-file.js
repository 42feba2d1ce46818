'use strict';
// The lock of a folder whose database stays open for readers of other processes, such as a backup, and can therefore
// not be the lock itself. It ends with the process.

const { createFile } = require('./log-folder');
const { DatabaseSync } = require('./sqlite');

const BUSY = 5;

/**
 * @param {string} file made if necessary
 * @returns {import('node:sqlite').DatabaseSync | null} the lock, which closing releases; null: another one has it
 * @throws {Error} of SQLite or the file system
 */
function lockFile(file) {
  createFile(file);
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    const { errcode = 0 } = /** @type {{ errcode?: number }} */ (error);
    if ((errcode & 0xff) !== BUSY) throw error;
    return null;
  }
}

exports.lockFile = lockFile;
