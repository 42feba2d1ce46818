'use strict';
// Guesses which known name a misspelled one means.

const LONGEST = 128;

/**
 * @param {string} from
 * @param {string} to
 * @returns {number} number of characters to insert, delete or replace (Levenshtein)
 */
function edits(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/**
 * @param {string} word
 * @param {readonly string[]} known
 * @param {number} mostEdits
 * @returns {string} " Did you mean …?" for the only name that begins with the word, else for the nearest one; '' = none
 *   is near
 */
function meant(word, known, mostEdits) {
  if (word.length > LONGEST) return '';
  const begun = word ? known.filter((name) => name.startsWith(word)) : [];
  const [nearest] =
    begun.length === 1
      ? begun
      : known
          .map((name) => ({ name, distance: edits(word, name) }))
          .filter(({ distance }) => distance <= mostEdits)
          .sort((a, b) => a.distance - b.distance)
          .map(({ name }) => name);
  return nearest ? ` Did you mean ${nearest}?` : '';
}

exports.meant = meant;
