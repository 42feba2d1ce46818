'use strict';
// Copies a database whose program was killed in the middle of a commit: SQLite repairs it before it reads it, and can
// do so only where it may write. In the volume of a hostile tenant it must not: a rollback journal may name a "super-
// journal", any path, which SQLite then deletes with the rights of this process. So the files are copied, and SQLite
// repairs the copies.

const fs = require('node:fs');
const { CliError } = require('../base/errors');
const { copyTo } = require('./copy-file');
const { loadSqlite } = require('./sqlite');
const { isGone, openFile } = require('./volume');

/** What SQLite needs beside a database to repair it. It makes the -shm again. */
const SIDES = ['-journal', '-wal'];
/** What it may leave beside the copy. */
const LEFTOVERS = ['-journal', '-wal', '-shm'];
/** Ends a journal that names a super-journal ("Rollback journal", The Database File Format). */
const MAGIC = Buffer.from('d9d505f920a163d7', 'hex');

const CHANGED = 'It changed while it was copied';

/** The files changed while they were copied. */
class ChangedError extends Error {}

/**
 * @param {string} source path of the database in the volume
 * @param {number} fd of it
 * @param {string} target is replaced
 * @param {number} most bytes of each file
 * @throws {ChangedError} the program writes again: SQLite can read the database itself
 * @throws {CliError} it cannot be repaired here
 * @throws {Error} of SQLite
 */
function copyRepaired(source, fd, target, most) {
  const { DatabaseSync } = loadSqlite();
  removeCopy(target);
  const before = fs.fstatSync(fd);
  /** @type {[string, number, fs.Stats][]} */
  const sides = [];
  try {
    for (const suffix of SIDES) {
      const stat = fs.lstatSync(source + suffix, { throwIfNoEntry: false });
      if (!stat) continue;
      if (!stat.isFile()) throw new CliError(`its ${suffix.slice(1)} is not a file`);
      const side = openFile(source + suffix);
      sides.push([suffix, side, fs.fstatSync(side)]);
    }
    for (const [suffix, side, { size }] of sides) {
      copy(side, size, target + suffix, most);
      // The copy, which the tenant cannot change any more.
      if (suffix === '-journal') refuseSuperJournal(target + suffix);
    }
    copy(fd, before.size, target, most);
    const isSame =
      isEqual(before, fs.fstatSync(fd)) &&
      isEqual(before, fs.lstatSync(source, { throwIfNoEntry: false })) &&
      SIDES.every((suffix) => {
        const now = fs.lstatSync(source + suffix, { throwIfNoEntry: false });
        const known = sides.find(([each]) => each === suffix);
        return known ? isEqual(known[2], now) : now === undefined;
      });
    if (!isSame) throw new ChangedError(CHANGED);
  } catch (error) {
    throw isGone(error) ? new ChangedError(CHANGED) : error;
  } finally {
    for (const [, side] of sides) fs.closeSync(side);
  }
  const db = new DatabaseSync(target);
  try {
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    db.close();
  }
  for (const suffix of LEFTOVERS) fs.rmSync(target + suffix, { force: true });
  // A journal says how many pages the database had.
  if (fs.statSync(target).size > most) throw tooLarge(most);
}

/** @param {string} target */
function removeCopy(target) {
  for (const suffix of ['', ...LEFTOVERS]) fs.rmSync(target + suffix, { force: true });
}

/** @param {number} fd @param {number} size @param {string} target @param {number} most */
function copy(fd, size, target, most) {
  if (size > most) throw tooLarge(most);
  copyTo(fd, size, target);
}

/** @param {number} most */
const tooLarge = (most) =>
  new CliError(`with its journal it has more than ${Math.floor(most / 2 ** 20)} MiB, the limit of a backup`);

/**
 * Whether such a transaction was committed depends on the super-journal's existence, and its path may be another one
 * here than in the tenant. So only the program itself can repair it.
 * @param {string} journal
 */
function refuseSuperJournal(journal) {
  const end = lastBytes(journal, MAGIC.length);
  if (!end.equals(MAGIC)) return;
  throw new CliError(
    'its program was ended in the middle of a commit to several databases, and has to repair it: start the tenant, and run the backup again'
  );
}

/** @param {string} file @param {number} count @returns {Buffer} fewer if the file is shorter */
function lastBytes(file, count) {
  const fd = fs.openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(count);
    const from = Math.max(0, fs.fstatSync(fd).size - count);
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, count, from));
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {fs.Stats} a @param {fs.Stats | undefined} b */
const isEqual = (a, b) =>
  b !== undefined && a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;

module.exports = { ChangedError, copyRepaired, removeCopy };
