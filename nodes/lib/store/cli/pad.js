'use strict';
// Handles a truncated database: SQLite refuses a file with fewer pages than its header says, although the remaining
// pages are readable.

const fs = require('node:fs');
const { openRegular } = require('../../base/files/regular-file');

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The largest configurable log, and as much again for SQLite's overhead. */
const MOST_BYTES = 2 * 2 ** 40;

/** @param {Buffer} header @returns {number} minimum size of the file in bytes, 0 = the header does not contain it */
function bytesByHeader(header) {
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 0;
  const pageSize = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16);
  // The page count is valid only if both change counters agree (https://sqlite.org/fileformat.html).
  const isValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  const bytes = isValid ? header.readUInt32BE(28) * pageSize : 0;
  return bytes <= MOST_BYTES ? bytes : 0;
}

/** Returns the bytes missing at the end of a database, 0 = none. @param {string} file */
function missingBytes(file) {
  const fd = openRegular(file, { follows: true });
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    const length = fs.readSync(fd, header, 0, HEADER_BYTES, 0);
    return Math.max(0, bytesByHeader(header.subarray(0, length)) - fs.fstatSync(fd).size);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Fills the missing end with zeros, so that the rest can be read. They take no space on the disk.
 * @param {string} file
 * @returns {number} number of bytes added
 */
function pad(file) {
  const missing = missingBytes(file);
  if (missing > 0) fs.truncateSync(file, fs.statSync(file).size + missing);
  return missing;
}

module.exports = { pad, missingBytes };
