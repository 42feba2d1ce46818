'use strict';
// Replaces a file atomically: a concurrent reader, or a reader after a power failure, finds the old or the new content.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** Errors of systems that cannot sync a folder, because it is unnecessary there or not permitted. */
const NO_SYNC = ['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'ENOSYS'];

/**
 * @param {string} file if it is a symbolic link, its target is replaced
 * @param {string | Buffer} content
 * @param {number} [mode] of the new file
 * @throws {Error} with the system's code; the old file is then unchanged
 */
function replaceFile(file, content, mode = 0o600) {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : path.resolve(file);
  const before = fs.existsSync(target) ? fs.statSync(target) : null;
  const temporary = `${target}.${crypto.randomBytes(6).toString('hex')}.new`;
  const fd = fs.openSync(temporary, 'wx', mode);
  try {
    // writeSync() may write only a part, for example on a full disk.
    fs.writeFileSync(fd, content);
    // The umask may have cleared bits.
    fs.fchmodSync(fd, mode);
    if (before && process.getuid?.() === 0) fs.fchownSync(fd, before.uid, before.gid);
    fs.fsyncSync(fd);
    fs.renameSync(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
  syncFolder(path.dirname(target));
}

/**
 * Syncs a folder. Otherwise a power failure may undo a rename.
 * @param {string} folder
 */
function syncFolder(folder) {
  let fd = -1;
  try {
    fd = fs.openSync(folder, 'r');
    fs.fsyncSync(fd);
  } catch (error) {
    if (!NO_SYNC.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  } finally {
    if (fd >= 0) fs.closeSync(fd);
  }
}

module.exports = { replaceFile, syncFolder };
