'use strict';

// The name of this platform's binary: platform, C library if there are several, architecture.

const fs = require('node:fs');

/** @returns {string} 'musl' on Alpine; a binary supports either musl or glibc */
function libc() {
  return process.platform === 'linux' && fs.existsSync('/etc/alpine-release') ? 'musl' : '';
}

module.exports = `${process.platform}${libc()}-${process.arch}`;
