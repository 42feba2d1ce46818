'use strict';
// Replaces a file as a whole: whoever reads it meanwhile, and after a power cut, finds the old content or the new one.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** What systems say that cannot write a folder to disk: they have no need, or we have no right. */
const NO_SYNC = ['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'ENOSYS'];

/**
 * @param {string} file a link stays one: what it points to is replaced
 * @param {string | Buffer} content
 * @param {number} [mode] of the new file
 * @throws {Error} with the system's code; the old file is then as it was
 */
function replaceFile(file, content, mode = 0o600) {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : path.resolve(file);
  const before = fs.existsSync(target) ? fs.statSync(target) : null;
  const temporary = `${target}.${crypto.randomBytes(6).toString('hex')}.new`;
  const fd = fs.openSync(temporary, 'wx', mode);
  try {
    // Not writeSync(): that may write a part of it, on a full disk for example.
    fs.writeFileSync(fd, content);
    // The umask may have taken bits away.
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

/** Without it a power cut may undo a rename. @param {string} folder */
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

module.exports = { replaceFile };
