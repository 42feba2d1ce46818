'use strict';
// Opens regular files only. Opening a pipe waits for its other end, perhaps forever, and opening a device may do
// something.

const fs = require('node:fs');

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/**
 * Opens a regular file to read. Does not wait for a pipe, even if one has just replaced the file.
 * @param {string} file
 * @param {{ follows?: boolean }} [options] follows: through a symbolic link, too
 * @returns {number} the descriptor
 * @throws {Error} with the code of a system error; EINVAL: it is no regular file
 */
function openRegular(file, { follows = false } = {}) {
  const found = follows ? fs.statSync(file) : fs.lstatSync(file);
  // Not even opened: that alone moves some devices. A link gets its own error code below.
  if (!found.isFile() && !found.isSymbolicLink()) throw irregular(file);
  const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK | (follows ? 0 : O_NOFOLLOW));
  if (fs.fstatSync(fd).isFile()) return fd;
  fs.closeSync(fd);
  throw irregular(file);
}

/** @param {string} file */
const irregular = (file) =>
  Object.assign(new Error(`${file} is not a regular file`), { code: 'EINVAL', path: file });

/**
 * Returns the text of a regular file, also through a symbolic link.
 * @param {string} file
 * @returns {string}
 * @throws {Error} with the code of a system error; EINVAL: it is no regular file
 */
function readRegular(file) {
  const fd = openRegular(file, { follows: true });
  try {
    return fs.readFileSync(fd, 'utf8');
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { openRegular, readRegular };
