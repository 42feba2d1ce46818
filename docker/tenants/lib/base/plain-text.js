'use strict';

/** Longest line, characters. */
const MAX_LINE = 4096;
/**
 * Characters that change a terminal or the order of a text instead of being shown: controls but the tab (a line feed
 * ends a line), marks of direction, separators of lines, surrogates without their other half.
 */
const HIDDEN = /\p{Surrogate}|(?![\t\n])\p{Control}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** @param {string} character */
function escapeOf(character) {
  const code = /** @type {number} */ (character.codePointAt(0));
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

/**
 * Returns a text of a tenant in a form that a terminal can print: a tenant must not clear the screen of an operator, or
 * write a line that looks like one of the keeper.
 * @param {string} text
 * @returns {string} with each hidden character as its escape, such as \x1b; a long line is cut
 */
function plainText(text) {
  return text
    .split(/\r*\n/)
    .map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)} …` : line))
    .join('\n')
    .replace(HIDDEN, escapeOf);
}

module.exports = { plainText };
