'use strict';

// The log's folder, as far as the file system is concerned: what SQLite does not do itself.

const fs = require('node:fs');
const path = require('node:path');
const { FILE } = require('./log-schema');

/** Companions that SQLite keeps beside the file. */
const COMPANIONS = ['', '-wal', '-journal'];
const RESERVE_FILE = 'log.reserve';
/** Takes in what a WAL can grow to (4 MiB, and one transaction) when it has to go into the database of a full disk. */
const RESERVE_BYTES = 6 << 20;
/** What else has to be free before the log takes chunks again after a full disk. */
const HEADROOM_BYTES = 2 << 20;

/** A name is on disk when its folder was synced, whatever happened to the file. @param {string} directory */
function syncDirectory(directory) {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Not Node's `recursive`: that tries for ever where the system says ENOENT to mkdir itself (/proc, some automounts).
 * @param {string} folder absolute
 */
function makeFolder(folder) {
  if (fs.existsSync(folder)) return;
  const parent = path.dirname(folder);
  makeFolder(parent);
  fs.mkdirSync(folder, { mode: 0o700 });
  syncDirectory(parent);
}

/** Makes the folder and an empty file, for the gateway's user alone. SQLite gives the WAL the rights of the file. @param {string} directory */
function prepareFolder(directory) {
  makeFolder(path.resolve(directory));
  try {
    // Never opened again but by SQLite: closing any descriptor of a file ends the locks that this process has on it (POSIX).
    fs.closeSync(fs.openSync(path.join(directory, FILE), 'wx', 0o600));
    syncDirectory(directory);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    fs.accessSync(path.join(directory, FILE), fs.constants.R_OK | fs.constants.W_OK);
  }
}

/** Bytes of a file, 0 = there is none. @param {string} file */
function sizeOf(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Bytes of the database and its WAL. @param {string} directory */
function fileBytes(directory) {
  const file = path.join(directory, FILE);
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/** Tells this file from another one under the same name; '' = there is none. @param {string} file */
function identity(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}` : '';
}

/**
 * Renames a file that cannot be used, so that a fresh one can begin. Nothing is deleted.
 * @param {string} directory @param {Date} now @returns {string} its new name
 */
function setAside(directory, now) {
  const file = path.join(directory, FILE);
  const stamp = now.toISOString().replaceAll(':', '-');
  let name = `${file}.damaged-${stamp}`;
  for (let i = 2; fs.existsSync(name); i++) name = `${file}.damaged-${stamp}-${i}`;
  // The file last: a WAL without its file is nothing, but a file without its WAL would be taken up again.
  for (const suffix of [...COMPANIONS].reverse()) {
    if (fs.existsSync(file + suffix)) fs.renameSync(file + suffix, name + suffix);
  }
  syncDirectory(directory);
  return name;
}

/**
 * Writes the WAL's bytes over themselves, and syncs them. The frames of a WAL that an earlier connection left may stand in
 * the page cache alone, marked clean by a sync that failed; the kernel tells of that once, so a later sync would "work".
 * Written again they are dirty again, and this sync means something. REQUIRES: the lock is held by a connection that has
 * written nothing.
 * @param {string} directory
 */
function rewriteWal(directory) {
  const wal = path.join(directory, `${FILE}-wal`);
  if (sizeOf(wal) === 0) return;
  const fd = fs.openSync(wal, 'r+');
  try {
    const bytes = fs.readFileSync(fd);
    for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at, bytes.length - at, at);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Space that is ours already. A log that has filled its disk could not even delete: SQLite needs room in the WAL, and the
 * WAL's pages need room in the database. Then this file goes, and comes back when there is space again.
 */
class Reserve {
  /** @param {string} directory */
  constructor(directory) {
    this.directory = directory;
    this.file = path.join(directory, RESERVE_FILE);
  }

  release() {
    fs.rmSync(this.file, { force: true });
  }

  /** Throws ENOSPC when there is no space for it. */
  restore() {
    if (sizeOf(this.file) === RESERVE_BYTES) return;
    const { bavail, bsize } = fs.statfsSync(this.directory);
    if (bavail * bsize < RESERVE_BYTES + HEADROOM_BYTES) {
      throw Object.assign(new Error('no space for the reserve of the log'), { code: 'ENOSPC' });
    }
    try {
      const fd = fs.openSync(this.file, 'w', 0o600);
      try {
        fs.writeFileSync(fd, Buffer.alloc(RESERVE_BYTES));
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    } catch (error) {
      this.release();
      throw error;
    }
  }
}

exports.Reserve = Reserve;
exports.fileBytes = fileBytes;
exports.identity = identity;
exports.makeFolder = makeFolder;
exports.prepareFolder = prepareFolder;
exports.rewriteWal = rewriteWal;
exports.setAside = setAside;
exports.syncDirectory = syncDirectory;
