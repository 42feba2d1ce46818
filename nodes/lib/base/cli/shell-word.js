'use strict';

/**
 * Quotes a word for a POSIX shell, so that nothing in it is expanded or run.
 * @param {string} word without NUL
 * @returns {string} the word itself if it needs no quotes
 */
function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

module.exports = { shellWord };
