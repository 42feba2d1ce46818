'use strict';

const fs = require('node:fs/promises');
const path = require('node:path');

/** Bytes of a block in `blocks` of stat(2). */
const BLOCK = 512;

/** Least size that a file counts with: its inode and its name take space that `blocks` does not include. */
const FILE_BYTES = 1024;
/** Most files and folders that any limit allows. */
const MOST_FILES = 500_000;

/**
 * Returns the space that a folder takes on the disk. Files that go away meanwhile are left out, links are not followed.
 *
 * A tenant may make millions of small or empty files, which take long to count. So the count stops as soon as it
 * exceeds the limit, and each file counts with at least 1 KiB and at least a 500,000th of the limit. This bounds the
 * number of files that are looked at: `most` / 1 KiB, and at most 500,000.
 * @param {string} folder
 * @param {number} most limit, bytes
 * @returns {Promise<number>} bytes; a result above `most` is a lower bound, because the count stopped there; 0 = there
 *   is no folder
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
