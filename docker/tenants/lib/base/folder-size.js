'use strict';

const fs = require('node:fs/promises');

/** Bytes of a block in `blocks` of stat(2). */
const BLOCK = 512;

/** Least size that a file counts with: its inode and its name take space that `blocks` does not include. */
const FILE_BYTES = 1024;
/** Most files and folders that any limit allows. */
const MOST_FILES = 500_000;
/** What makes a part of a folder uncountable: no right to open it, and a path that is longer than the kernel allows. */
const CLOSED = ['EACCES', 'EPERM', 'ENAMETOOLONG'];
const MAX_SHOWN = 100;
const LATIN1 = { encoding: /** @type {BufferEncoding} */ ('latin1') };

/** Part of a folder cannot be counted. */
class ClosedError extends Error {}

/**
 * Returns the space that a folder takes on the disk. It skips files that vanish meanwhile, and does not follow links.
 *
 * A tenant may make millions of small or empty files, which take long to count. So the count stops as soon as it
 * exceeds the limit, and each file counts with at least 1 KiB and at least a 500,000th of the limit. This bounds the
 * number of counted files: `most` / 1 KiB, and at most 500,000.
 * @param {string} folder
 * @param {number} most limit, bytes
 * @returns {Promise<number>} bytes; a result above `most` is a lower bound, because the count stopped there; 0 = there
 *   is no folder
 * @throws {ClosedError} with the rest of a sentence: a tenant must not hide its data behind its own folders
 */
async function folderSize(folder, most) {
  const least = Math.max(FILE_BYTES, most / MOST_FILES);
  let bytes = 0;
  // Latin-1 keeps each byte of a name. As UTF-8, a file with any other name would not be found.
  const open = [Buffer.from(folder).toString('latin1')];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const parent = next;
    const entries = await unlessGone(fs.opendir(bytesOf(parent), LATIN1), parent);
    if (!entries) continue;
    // A list of all names could exceed the memory, so they are read in parts.
    for await (const { name } of untilGone(entries)) {
      const file = `${parent}/${name}`;
      const stat = await unlessGone(fs.lstat(bytesOf(file)), file);
      if (!stat) continue;
      if (stat.isDirectory()) open.push(file);
      bytes += Math.max(least, stat.blocks * BLOCK);
      if (bytes > most) return bytes;
    }
  }
  return bytes;
}

/** @param {string} file in Latin-1 */
const bytesOf = (file) => Buffer.from(file, 'latin1');

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} file in Latin-1
 * @returns {Promise<T | null>} null: it is gone, or cannot be read for a reason that is not the tenant's
 */
async function unlessGone(promise, file) {
  try {
    return await promise;
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    if (!CLOSED.includes(code)) return null;
    const shown = JSON.stringify(bytesOf(file).toString().slice(-MAX_SHOWN));
    throw new ClosedError(`cannot be counted: ${shown} is closed to the keeper (${code})`, { cause: error });
  }
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

module.exports = { BLOCK, ClosedError, MOST_FILES, folderSize };
