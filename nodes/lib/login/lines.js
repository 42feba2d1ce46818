'use strict';
// Edits a file of `name:…` lines and keeps its other lines, including comments. A name may have several lines.

const fs = require('node:fs');
const { readRegular } = require('../base/files/regular-file');
const { replaceFile } = require('../base/replace-file');

/** @param {string} file @returns {string[]} empty if there is no file */
function readLines(file) {
  try {
    return readRegular(file).replace(/\n$/, '').split('\n');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}

/** @param {string} name @returns {(line: string) => boolean} */
function isOf(name) {
  return (line) => line.startsWith(`${name}:`);
}

/** @param {string} file @param {string} name @returns {string[]} */
function linesOf(file, name) {
  return readLines(file).filter(isOf(name));
}

/**
 * Replaces all lines of a name, or appends the lines if it has none. No lines: removes the name.
 * @param {string} file
 * @param {string} name
 * @param {string[]} lines
 * @returns {number} lines that the name had before
 */
function putLines(file, name, lines) {
  const before = readLines(file);
  const at = before.findIndex(isOf(name));
  const others = before.filter((line) => !isOf(name)(line));
  // All lines before the first line of the name belong to others, so its index is the same in `others`.
  others.splice(at < 0 ? others.length : at, 0, ...lines);
  const mode = fs.existsSync(file) ? fs.statSync(file).mode & 0o777 : 0o600;
  const text = others.filter((line, i) => line !== '' || i > 0).map((line) => `${line}\n`);
  replaceFile(file, text.join(''), mode);
  return before.length - others.length + lines.length;
}

module.exports = { linesOf, putLines };
