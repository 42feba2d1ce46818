'use strict';
// Tells by its first bytes what a file of the gateway's folder is: a name says little about files of users.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { openRegular } = require('../../nodes/lib/base/files/regular-file');
const { MANIFEST } = require('./archive');

/** How an SQLite database begins. */
const DATABASE = Buffer.from('SQLite format 3\0');
const GZIP = Buffer.from([0x1f, 0x8b]);
/** How the archive of a backup begins, behind the pax header of its first entry: with the name of that entry. */
const BACKUP = Buffer.from(`${MANIFEST}\0`);
const PAX_BYTES = 1024;
const START_BYTES = 4096;
/** What SQLite keeps beside a database. */
const SIDES = ['-wal', '-shm', '-journal'];

/** @typedef {'database' | 'backup' | 'empty' | 'other'} Kind */

/**
 * REQUIRES: this process has no connection to the file. Closing it would end that connection's locks.
 * @param {string} file
 * @returns {Kind} backup: written by seganet-gateway backup
 * @throws {Error} of openRegular()
 */
function kindOf(file) {
  const start = startOf(file);
  if (start.length === 0) return 'empty';
  if (beginsWith(start, DATABASE)) return 'database';
  return beginsWith(start, GZIP) && beginsWith(unpacked(start).subarray(PAX_BYTES), BACKUP)
    ? 'backup'
    : 'other';
}

/** @param {string} file @returns {Buffer} */
function startOf(file) {
  const fd = openRegular(file);
  try {
    const start = Buffer.alloc(START_BYTES);
    return start.subarray(0, fs.readSync(fd, start, 0, start.length, 0));
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {Buffer} bytes @param {Buffer} start */
const beginsWith = (bytes, start) => bytes.subarray(0, start.length).equals(start);

/** @param {Buffer} start of a file in gzip @returns {Buffer} empty if it is damaged */
function unpacked(start) {
  try {
    return zlib.gunzipSync(start, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0);
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
