'use strict';

// Operations on the log's folder that SQLite does not perform.

const fs = require('node:fs');
const path = require('node:path');
const { FILE } = require('./log-schema');

/** Suffixes of the files that SQLite keeps beside the database. */
const COMPANIONS = ['', '-wal', '-journal'];
const RESERVE_FILE = 'log.reserve';
/** Holds the largest WAL (4 MiB, and one transaction) when it has to go into the database on a full disk. */
const RESERVE_BYTES = 6 << 20;
/** Additional free space that is required before the log accepts chunks again after a full disk. */
const HEADROOM_BYTES = 2 << 20;

/**
 * Syncs a folder. A file's name is durable only after that, regardless of a sync of the file.
 * @param {string} directory
 */
function syncDirectory(directory) {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Creates a folder. Node's `recursive` option is not used: it retries forever where mkdir itself fails with ENOENT
 * (/proc, some automounts).
 * @param {string} folder absolute
 */
function makeFolder(folder) {
  if (fs.existsSync(folder)) return;
  const parent = path.dirname(folder);
  makeFolder(parent);
  fs.mkdirSync(folder, { mode: 0o700 });
  syncDirectory(parent);
}

/**
 * Creates an empty file, accessible to the gateway's user only, if there is none. SQLite gives the WAL the file's
 * permissions.
 * @param {string} file
 */
function createFile(file) {
  try {
    // From now on, only SQLite may open the file: closing any descriptor of a file releases the locks of this process
    // on it (POSIX).
    fs.closeSync(fs.openSync(file, 'wx', 0o600));
    syncDirectory(path.dirname(file));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
}

/**
 * Creates the folder and an empty file, or throws if the gateway's user may not read and write the file: SQLite would
 * not give the reason.
 * @param {string} file
 */
function prepareFile(file) {
  makeFolder(path.resolve(path.dirname(file)));
  createFile(file);
  fs.accessSync(file, fs.constants.R_OK | fs.constants.W_OK);
}

/** Returns the size of a file in bytes, 0 = there is none. @param {string} file */
function sizeOf(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the size of the database and its WAL in bytes. @param {string} directory */
function fileBytes(directory) {
  const file = path.join(directory, FILE);
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/**
 * Returns a value that distinguishes this file from another one with the same name; '' = there is none.
 * @param {string} file
 */
function identity(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}` : '';
}

/**
 * Renames an unusable file, so that a new one can be created. Nothing is deleted.
 * @param {string} directory
 * @param {Date} now
 * @param {string} [name] of the database
 * @returns {string} its new name
 */
function setAside(directory, now, name = FILE) {
  const file = path.join(directory, name);
  const stamp = now.toISOString().replaceAll(':', '-');
  let aside = `${file}.damaged-${stamp}`;
  for (let i = 2; fs.existsSync(aside); i++) aside = `${file}.damaged-${stamp}-${i}`;
  // The database is renamed last: a WAL without its database is useless, but a database without its WAL would be used
  // again.
  for (const suffix of [...COMPANIONS].reverse()) {
    if (fs.existsSync(file + suffix)) fs.renameSync(file + suffix, aside + suffix);
  }
  syncDirectory(directory);
  return aside;
}

/**
 * Writes the WAL's bytes over themselves, and syncs them. The frames of a WAL that an earlier connection left may exist
 * only in the page cache, marked clean by a sync that failed. The kernel reports that failure once, so a later sync
 * would "work". Rewriting marks the frames dirty again, so that this sync is reliable. REQUIRES: the lock is held by a
 * connection that has written nothing.
 * @param {string} directory
 * @param {string} [name] of the database
 */
function rewriteWal(directory, name = FILE) {
  const wal = path.join(directory, `${name}-wal`);
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
 * Reserved disk space. A log that has filled its disk could not even delete: SQLite needs room in the WAL, and the
 * WAL's pages need room in the database. In that case this file is removed, and it is created again when there is
 * space.
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

  /** Throws ENOSPC when there is not enough space. */
  restore() {
    if (sizeOf(this.file) === RESERVE_BYTES) return;
    const { bavail, bsize } = fs.statfsSync(this.directory);
    if (bavail * bsize < RESERVE_BYTES + HEADROOM_BYTES) {
      const neededMiB = (RESERVE_BYTES + HEADROOM_BYTES) >> 20;
      throw Object.assign(new Error('no space for the reserve of the log'), { code: 'ENOSPC', neededMiB });
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
exports.createFile = createFile;
exports.fileBytes = fileBytes;
exports.identity = identity;
exports.makeFolder = makeFolder;
exports.prepareFile = prepareFile;
exports.rewriteWal = rewriteWal;
exports.setAside = setAside;
exports.syncDirectory = syncDirectory;
