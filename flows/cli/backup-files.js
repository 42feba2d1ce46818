'use strict';
// Adds files to the archive of a backup.

const fs = require('node:fs');
const path = require('node:path');
const { openRegular } = require('./file-kinds');

/**
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} name
 * @param {string} file
 * @throws {Error} of openRegular()
 */
async function addFile(archive, name, file) {
  const fd = openRegular(file);
  const { size: bytes, mode, mtimeMs } = fs.fstatSync(fd);
  const body = fs.createReadStream(file, { fd, start: 0, end: Math.max(bytes - 1, 0) });
  try {
    const entry = { name: name.split(path.sep).join('/'), size: bytes, mode, mtimeMs };
    await archive.add(entry, bytes > 0 ? body : []);
  } finally {
    // Closes the descriptor, too.
    body.destroy();
  }
}

module.exports = { addFile };
