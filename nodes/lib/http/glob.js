'use strict';
// Device globs, as in rules: * any run of characters, ? one, the whole id.

/**
 * @param {string} pattern
 * @param {string} text
 */
function globMatches(pattern, text) {
  const wanted = [...pattern];
  const given = [...text];
  let [at, star, resumeAt] = [0, -1, 0];
  // One star is gone back to at most, so that no pattern costs more than its length times the text's.
  for (let i = 0; i < given.length;) {
    if (wanted[at] === '*') {
      star = at++;
      resumeAt = i;
    } else if (wanted[at] === '?' || wanted[at] === given[i]) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++resumeAt;
    } else {
      return false;
    }
  }
  while (wanted[at] === '*') at++;
  return at === wanted.length;
}

module.exports = { globMatches };
