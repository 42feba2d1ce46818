'use strict';
// Rebuilds a malformed database from its readable rows, and keeps the old one.

const fs = require('node:fs');
const path = require('node:path');
const { syncDirectory } = require('../log-folder');
const { copyAll } = require('./copy');
const { createLog } = require('./create');
const { writer } = require('./rows');
const { EXIT, CliError } = require('./log-error');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */

/** Suffix of a damaged database whose rows are in the log. It is not read again. */
const SALVAGED = '-salvaged';

/**
 * Copies owner and mode: a repair by root must not lock out the gateway's user.
 * @param {string} file
 * @param {string} fresh
 */
function takeOwner(file, fresh) {
  const { mode, uid, gid } = fs.statSync(file);
  fs.chmodSync(fresh, mode & 0o777);
  if (process.getuid?.() === 0) fs.chownSync(fresh, uid, gid);
}

/**
 * Replaces the old file with the new one. If this is interrupted at any point, the old database or the new one is
 * there.
 * @param {string} file
 * @param {string} fresh
 * @returns {string} the name of the old file
 */
function swap(file, fresh) {
  const old = `${file}.damaged-${new Date().toISOString().replaceAll(':', '-')}${SALVAGED}`;
  // Give the file a second name before the first is removed. File systems without links do without.
  try {
    fs.linkSync(file, old);
  } catch {
    fs.renameSync(file, old);
  }
  // The WAL of the old file must not be used with the new one: SQLite would not notice.
  const wal = fs.statSync(`${file}-wal`, { throwIfNoEntry: false });
  if (wal && wal.size > 0) fs.renameSync(`${file}-wal`, `${old}-wal`);
  for (const suffix of ['-wal', '-shm']) fs.rmSync(file + suffix, { force: true });
  fs.renameSync(fresh, file);
  syncDirectory(path.dirname(file));
  return old;
}

/**
 * Rebuilds a database. REQUIRES: `from` holds a read transaction on `file`, which excludes gateways until the new file
 * is in its place.
 * @param {DatabaseSync} from
 * @param {string} file
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {string} the new name of the old database
 */
function salvage(from, file, output) {
  const { ino } = fs.statSync(file);
  const fresh = `${file}.repair`;
  if (fs.existsSync(fresh)) {
    throw new CliError(
      `Another repair is writing ${fresh}, or a repair was interrupted. In that case, remove the file and run the command again.`,
      EXIT.CANNOT
    );
  }
  createLog(fresh, (db) => {
    copyAll(from, writer(db), output);
    takeOwner(file, fresh);
  });
  if (fs.statSync(file).ino !== ino) {
    fs.rmSync(fresh);
    throw new CliError(`Another process replaced ${file} during the repair. Run verify.`, EXIT.CANNOT);
  }
  return swap(file, fresh);
}

module.exports = { salvage, SALVAGED };
