'use strict';
// A serial dongle that is pulled. The serial port library does not always notice: once the kernel has hung the port up it reads
// nothing from it again and again, for ever. That the port's file has gone, or is another one, is sure.

const fs = require('node:fs');

/** @param {string} path @returns {string} '' when there is none */
function identityOf(path) {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}:${stats.rdev}` : '';
}

/**
 * @param {string} path of the port, e.g. /dev/ttyUSB0, or a link to it
 * @param {() => void} gone called once. A port that never was there is not gone.
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
