'use strict';

const fs = require('node:fs/promises');
const path = require('node:path');

/** Bytes of a block in `blocks` of stat(2). */
const BLOCK = 512;

/**
 * Returns the space that a folder takes on the disk. Files that go away meanwhile are left out, links are not followed.
 * @param {string} folder
 * @returns {Promise<number>} bytes, 0 = there is no folder
 */
async function folderSize(folder) {
  let bytes = 0;
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const current = next;
    const entries = await fs.readdir(current, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const file = path.join(current, entry.name);
      if (entry.isDirectory()) open.push(file);
      bytes += ((await fs.lstat(file).catch(() => null))?.blocks ?? 0) * BLOCK;
    }
  }
  return bytes;
}

module.exports = { folderSize };
