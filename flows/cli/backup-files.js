'use strict';
// Adds files to the archive of a backup.

const fs = require('node:fs');
const path = require('node:path');

/** @param {import('./archive').ArchiveWriter} archive @param {string} name @param {string} file */
async function addFile(archive, name, file) {
  const { size: bytes, mode, mtimeMs } = fs.statSync(file);
  const body = bytes > 0 ? fs.createReadStream(file, { end: bytes - 1 }) : [];
  await archive.add({ name: name.split(path.sep).join('/'), size: bytes, mode, mtimeMs }, body);
}

module.exports = { addFile };
