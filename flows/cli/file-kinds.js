'use strict';
// Tells by its first bytes what a file of the gateway's folder is: a name says little about files of users.

const fs = require('node:fs');
const path = require('node:path');

/** How an SQLite database begins. */
const DATABASE = Buffer.from('SQLite format 3\0');
/** What SQLite keeps beside a database. */
const SIDES = ['-wal', '-shm', '-journal'];

/** @typedef {'database' | 'empty' | 'other'} Kind */

/**
 * REQUIRES: this process has no connection to the file. Closing it would end that connection's locks.
 * @param {string} file
 * @returns {Kind}
 */
function kindOf(file) {
  const fd = fs.openSync(file, 'r');
  try {
    const start = Buffer.alloc(DATABASE.length);
    const bytes = fs.readSync(fd, start, 0, start.length, 0);
    if (bytes === 0) return 'empty';
    return start.equals(DATABASE) ? 'database' : 'other';
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * True for what SQLite keeps beside a database. A copy of the database has its content already, and with an old -wal
 * beside it the copy would be read wrongly.
 * @param {string} folder
 * @param {string} name in the folder
 * @param {Set<string>} files names of the regular files in the folder
 */
function isSide(folder, name, files) {
  const side = SIDES.find((each) => name.endsWith(each));
  const base = side ? name.slice(0, -side.length) : '';
  return base !== '' && files.has(base) && ['database', 'empty'].includes(kindOf(path.join(folder, base)));
}

module.exports = { SIDES, isSide, kindOf };
