'use strict';
// Parses the paths of an uplink.

const { checkPaths } = require('../network/paths/path-settings');

/** @typedef {import('../network/paths/path-settings').Wanted} Wanted */

/**
 * @param {string | undefined} text such as eth0,wwan0:backup:metered
 * @returns {Wanted[] | null} null = one path, the system's; empty = auto
 * @throws {TypeError} with a sentence
 */
function parsePaths(text) {
  const entered = String(text ?? '').trim();
  if (entered === '') return null;
  return checkPaths(entered, 'The list of paths', (message) => new TypeError(message));
}

module.exports = { parsePaths };
