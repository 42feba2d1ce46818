'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** Errors of file systems that cannot sync a folder. */
const NO_SYNC = ['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'ENOSYS'];

/**
 * Replaces a file atomically: a reader, also after a power failure, finds the old or the new content.
 * @param {string} file if it is a symbolic link, its target is replaced
 * @param {string | Buffer} content
 * @param {number} [mode] of the new file
 * @throws {Error} with the system's code; the old file is then unchanged
 */
function replaceFile(file, content, mode = 0o600) {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : path.resolve(file);
  const draft = `${target}.${crypto.randomBytes(6).toString('hex')}.new`;
  const fd = fs.openSync(draft, 'wx', mode);
  try {
    fs.writeFileSync(fd, content);
    fs.fchmodSync(fd, mode);
    fs.fsyncSync(fd);
    fs.renameSync(draft, target);
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
  syncFolder(path.dirname(target));
}

/** Without this, a power failure may undo a rename. @param {string} folder */
function syncFolder(folder) {
  const fd = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    if (!NO_SYNC.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { replaceFile, syncFolder };
