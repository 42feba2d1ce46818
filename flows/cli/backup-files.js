'use strict';
// Adds files to the archive of a backup.

const fs = require('node:fs');
const path = require('node:path');
const { openRegular } = require('../../nodes/lib/base/files/regular-file');

/**
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} name
 * @param {string} file
 * @returns {Promise<boolean>} false: there is no such file
 * @throws {Error} of openRegular()
 */
async function addFile(archive, name, file) {
  const fd = openIfExists(file);
  if (fd === null) return false;
  const { size: bytes, mode, mtimeMs } = fs.fstatSync(fd);
  const body = fs.createReadStream(file, { fd, start: 0, end: Math.max(bytes - 1, 0) });
  try {
    const entry = { name: name.split(path.sep).join('/'), size: bytes, mode, mtimeMs };
    await archive.add(entry, bytes > 0 ? body : []);
    return true;
  } finally {
    // Closes the descriptor, too.
    body.destroy();
  }
}

/** @param {string} file @returns {number | null} of openRegular() */
function openIfExists(file) {
  try {
    return openRegular(file);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

module.exports = { addFile };
