'use strict';

const fs = require('node:fs');

const CHUNK = 256 << 10;

/**
 * Copies the first bytes of an open file.
 * @param {number} fd
 * @param {number} size bytes; fewer if the file becomes shorter meanwhile
 * @param {string} target is replaced
 */
function copyTo(fd, size, target) {
  const out = fs.openSync(target, 'w', 0o600);
  try {
    const chunk = Buffer.alloc(CHUNK);
    for (let at = 0; at < size;) {
      const read = fs.readSync(fd, chunk, 0, Math.min(CHUNK, size - at), at);
      if (read === 0) break;
      fs.writeSync(out, chunk, 0, read, at);
      at += read;
    }
  } finally {
    fs.closeSync(out);
  }
}

module.exports = { CHUNK, copyTo };
