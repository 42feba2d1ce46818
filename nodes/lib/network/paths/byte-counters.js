'use strict';
// Reads the byte counters of the interfaces from /proc/net/dev, which belongs to this process's network namespace. /sys
// may belong to another one (nsenter --net).

const fs = require('node:fs');

/** Since the interface was created. @typedef {{ rx: number, tx: number }} Bytes */

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
