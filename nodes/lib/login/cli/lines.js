'use strict';
// Changes a file of `name:…` lines and leaves its other lines, comments included, as they are.

const fs = require('node:fs');
const path = require('node:path');

/** @param {string} file @returns {string[]} none where there is no file */
function readLines(file) {
  try {
    return fs.readFileSync(file, 'utf8').replace(/\n$/, '').split('\n');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}

/** @param {string[]} lines @param {string} name @returns {number} -1 = it is not there */
function indexOfName(lines, name) {
  return lines.findIndex((line) => line.startsWith(`${name}:`));
}

/**
 * Whoever reads meanwhile finds the file of before or the new one.
 * @param {string} file
 * @param {string[]} lines
 */
function writeLines(file, lines) {
  // A link stays one: what it points to is replaced.
  const target = fs.existsSync(file) ? fs.realpathSync(file) : path.resolve(file);
  const before = fs.existsSync(target) ? fs.statSync(target) : null;
  const temporary = `${target}.${process.pid}.new`;
  const mode = before ? before.mode & 0o777 : 0o600;
  const text = lines.filter((line, i) => line !== '' || i > 0).map((line) => `${line}\n`);
  const fd = fs.openSync(temporary, 'wx', mode);
  try {
    fs.writeSync(fd, text.join(''));
    // The umask may have taken bits away that the file had.
    fs.fchmodSync(fd, mode);
    if (before && process.getuid?.() === 0) fs.fchownSync(fd, before.uid, before.gid);
    fs.fsyncSync(fd);
    fs.renameSync(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {string} file @param {string} name @param {string} line */
function putLine(file, name, line) {
  const lines = readLines(file);
  const at = indexOfName(lines, name);
  if (at < 0) lines.push(line);
  else lines[at] = line;
  writeLines(file, lines);
  return at >= 0;
}

module.exports = { readLines, writeLines, putLine, indexOfName };
