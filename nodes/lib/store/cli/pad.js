'use strict';
// A database that was cut short: SQLite refuses a file that has fewer pages than its header says, although the pages that
// are left can be read.

const fs = require('node:fs');

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The largest log that can be configured, and as much again for what SQLite adds. */
const MOST_BYTES = 2 * 2 ** 40;

/** @param {Buffer} header @returns {number} bytes that the file should have at least, 0 = the header does not tell */
function bytesByHeader(header) {
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 0;
  const pageSize = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16);
  // The count of pages is valid only where both change counters agree (https://sqlite.org/fileformat.html).
  const isValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  const bytes = isValid ? header.readUInt32BE(28) * pageSize : 0;
  return bytes <= MOST_BYTES ? bytes : 0;
}

/** Bytes that are missing at the end of a database, 0 = none. @param {string} file */
function missingBytes(file) {
  const fd = fs.openSync(file, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    const length = fs.readSync(fd, header, 0, HEADER_BYTES, 0);
    return Math.max(0, bytesByHeader(header.subarray(0, length)) - fs.fstatSync(fd).size);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Puts zeros in the place of what is missing, so that the rest can be read. They take no space on the disk.
 * @param {string} file @returns {number} bytes
 */
function pad(file) {
  const missing = missingBytes(file);
  if (missing > 0) fs.truncateSync(file, fs.statSync(file).size + missing);
  return missing;
}

module.exports = { pad, missingBytes };
