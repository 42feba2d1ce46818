'use strict';
// Detects an unplugged serial dongle. The serial port library does not always do so: after the kernel has hung up the
// port, it reads zero bytes in an endless loop. A port whose file is missing or replaced is certainly gone.

const fs = require('node:fs');

/** @param {string} path @returns {string} '' if there is no file */
function identityOf(path) {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}:${stats.rdev}` : '';
}

/**
 * @param {string} path of the port, e.g. /dev/ttyUSB0, or a link to it
 * @param {() => void} gone called once; not called for a port that never existed
 * @param {number} [everyMs]
 */
function watchPort(path, gone, everyMs = 1000) {
  const before = identityOf(path);
  if (!before) return;
  const timer = setInterval(() => {
    if (identityOf(path) === before) return;
    clearInterval(timer);
    gone();
  }, everyMs);
}

exports.watchPort = watchPort;
