'use strict';

const fs = require('node:fs/promises');
const path = require('node:path');

/** Bytes of a block in `blocks` of stat(2). */
const BLOCK = 512;

/** What a file counts at least: its inode and its name take space too, which `blocks` does not tell. */
const FILE_BYTES = 1024;
/** Most files that a limit allows. */
const MOST_FILES = 500_000;

/**
 * Returns the space that a folder takes on the disk. Files that go away meanwhile are left out, links are not followed.
 * It ends as soon as the limit is exceeded: someone may have made very many files in order that this takes long. For
 * the same reason, each file counts at least 1 KiB, and at least a 500,000th of the limit.
 * @param {string} folder
 * @param {number} most bytes
 * @returns {Promise<number>} bytes, more than `most` = at least so many; 0 = there is no folder
 */
async function folderSize(folder, most) {
  const least = Math.max(FILE_BYTES, most / MOST_FILES);
  let bytes = 0;
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entries = await fs.opendir(next).catch(() => null);
    if (!entries) continue;
    // Not all at once: a list of all names could be larger than the memory.
    for await (const entry of untilGone(entries)) {
      const file = path.join(next, entry.name);
      if (entry.isDirectory()) open.push(file);
      const stat = await fs.lstat(file).catch(() => null);
      if (stat) bytes += Math.max(least, stat.blocks * BLOCK);
      if (bytes > most) return bytes;
    }
  }
  return bytes;
}

/** @param {import('node:fs').Dir} entries of a folder, which may go away meanwhile */
async function* untilGone(entries) {
  try {
    yield* entries;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'ENOENT') throw error;
  }
}

module.exports = { MOST_FILES, folderSize };
