'use strict';

// Name of this platform's binary: platform, C library where there are several, architecture.

const fs = require('node:fs');

/** musl or glibc: a binary is of one or the other. */
function libc() {
  return process.platform === 'linux' && fs.existsSync('/etc/alpine-release') ? 'musl' : '';
}

module.exports = `${process.platform}${libc()}-${process.arch}`;
