'use strict';
// The bytes that went by each interface. Of /proc/net/dev: that is of this process's network, where /sys may be of another (nsenter --net).

const fs = require('node:fs');

/** @typedef {{ rx: number, tx: number }} Bytes since the interface was made */

const MOST_TEXT = 1 << 20;
const LINE = /^ *([^\s:]{1,15}): *(\d{1,20})(?: +\d{1,20}){7} +(\d{1,20})(?: |$)/;

/** @param {string} text of /proc/net/dev @returns {Map<string, Bytes>} by interface */
function parseCounters(text) {
  const found = /** @type {[string, Bytes][]} */ ([]);
  for (const line of text.slice(0, MOST_TEXT).split('\n')) {
    const parts = LINE.exec(line);
    if (parts) found.push([parts[1], { rx: Number(parts[2]), tx: Number(parts[3]) }]);
  }
  return new Map(found);
}

/** @param {string} [file] @returns {Map<string, Bytes>} */
function readCounters(file = '/proc/net/dev') {
  try {
    return parseCounters(fs.readFileSync(file, 'utf8'));
  } catch {
    return new Map();
  }
}

module.exports = { parseCounters, readCounters };
