'use strict';
// Device globs, the same as in the engine (GlobMatches in native/core/record/rules.cc): * matches any run of
// characters, ? matches one character (a Unicode code point).

/**
 * True if the glob matches the whole id. Takes at most length(glob) * length(id) steps for any glob.
 * @param {string} glob
 * @param {string} id
 */
function matchesGlob(glob, id) {
  const pattern = [...glob];
  const text = [...id];
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
      // Let the latest * match one more character. Extending an earlier * is never necessary.
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
