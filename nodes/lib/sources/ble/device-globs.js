'use strict';

const MAX_GLOBS = 100;
const MAX_GLOB_CHARACTERS = 256;

/**
 * @param {string} text patterns with * and ?, separated by commas
 * @returns {string[]} in lower case
 * @throws {RangeError} whose message completes "<label> …"
 */
function parseGlobs(text) {
  const globs = text
    .split(',')
    .map((glob) => glob.trim().toLowerCase())
    .filter(Boolean);
  if (globs.length > MAX_GLOBS) {
    throw new RangeError(`holds ${globs.length} patterns; ${MAX_GLOBS} are allowed.`);
  }
  if (globs.some((glob) => glob.length > MAX_GLOB_CHARACTERS)) {
    throw new RangeError(`holds a pattern of over ${MAX_GLOB_CHARACTERS} characters.`);
  }
  return globs;
}

module.exports = { parseGlobs };
