'use strict';
// Looks at the files of an SQLite database before SQLite opens them: it waits for a pipe, and with the rights of root
// it deletes whatever file a journal names.

const fs = require('node:fs');
const { openRegular } = require('./regular-file');

/** What SQLite keeps beside a database. */
const SIDES = ['-journal', '-wal', '-shm'];
/**
 * Ends a journal that names a "super-journal" (The Database File Format, "The Rollback Journal"). Whoever may write the
 * journal chooses that path, and a rollback deletes the file.
 */
const MAGIC = Buffer.from('d9d505f920a163d7', 'hex');

/**
 * Returns why a database must not be opened, as a sentence; '' = it may.
 * @param {string} file
 * @returns {string}
 */
function databaseFault(file) {
  for (const name of ['', ...SIDES].map((side) => file + side)) {
    const stat = fs.statSync(name, { throwIfNoEntry: false });
    if (stat && !stat.isFile()) return `${name} is not a regular file. Remove it.`;
  }
  if (process.geteuid?.() !== 0 || !endsWithMagic(`${file}-journal`)) return '';
  return `${file}-journal names another file, which SQLite would delete, so root does not open the database. Start its program, or run the command as its user.`;
}

/** @param {string} journal need not exist */
function endsWithMagic(journal) {
  if (!fs.lstatSync(journal, { throwIfNoEntry: false })) return false;
  const fd = openRegular(journal, { follows: true });
  try {
    const bytes = Buffer.alloc(MAGIC.length);
    const start = Math.max(0, fs.fstatSync(fd).size - MAGIC.length);
    return fs.readSync(fd, bytes, 0, bytes.length, start) === MAGIC.length && bytes.equals(MAGIC);
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { SIDES, databaseFault };
