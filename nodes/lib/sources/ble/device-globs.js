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
    throw new RangeError(`has ${globs.length} patterns; at most ${MAX_GLOBS} are allowed.`);
  }
  if (globs.some((glob) => glob.length > MAX_GLOB_CHARACTERS)) {
    throw new RangeError(`has a pattern of more than ${MAX_GLOB_CHARACTERS} characters.`);
  }
  return globs;
}

module.exports = { parseGlobs };
