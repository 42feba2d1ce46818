'use strict';
// Device globs as the engine has them: * is any run of characters, ? is one.

/**
 * At most length(pattern) * length(text) steps, whatever the pattern: it comes from a person.
 * @param {string} pattern
 * @param {string} text matched as a whole
 */
function matchesGlob(pattern, text) {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      // The latest * takes one more; an earlier one never has to.
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/** @param {string} pattern */
function isGlob(pattern) {
  return /[*?]/.test(pattern);
}

module.exports = { matchesGlob, isGlob };
