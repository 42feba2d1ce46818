'use strict';
// Lists a tenant's volume while the tenant may be running, and may be hostile: each folder is opened below the one that
// is open already, without following links, so that no rename or link makes the backup read a file of the host.

const fs = require('node:fs');
const { isUtf8 } = require('node:buffer');
const { MAX_NAME_BYTES, possibleTime } = require('../../../../nodes/lib/base/tar/tar');
const { isInside } = require('../../../../nodes/lib/base/tar/names');

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
const SIDES = /^(.+)-(wal|shm|journal)$/s;
/** How an SQLite database begins. */
const DATABASE = Buffer.from('SQLite format 3\0');
/** Made again at need, or drafts that the gateway removes by itself. */
const LEFT_OUT = [
  /^(\.npm|compile-cache)$/s,
  /(^|\/)node_modules\/\.cache$/s,
  /(^|\/)log\.reserve$/s,
  /(^|\/)backup-[0-9a-f]{12}\.db(-journal|-wal|-shm)?$/s,
  /(^|\/)[^/]+\.[0-9a-f]{12}\.new$/s
];
/** Sessions of MQTT devices are out of date when they are restored: the devices begin new ones. */
const SESSIONS = /^seganet-log\/[^/]+\/sessions\.db$/s;

/**
 * @typedef {object} Found
 * @property {string} name relative to the volume
 * @property {'file' | 'folder' | 'link'} type
 * @property {string} path of the entry, through the open folder
 * @property {string} root path of the volume, through the open folder: short enough for a socket
 * @property {fs.Stats} stat
 *
 * @typedef {{ name: string, why: string }} Skipped
 */

/** Path of an entry below an open folder. @param {number} folder @param {string} name */
const below = (folder, name) => `/proc/self/fd/${folder}/${name}`;

/**
 * Opens a regular file, never a link or a FIFO.
 * @param {string} path
 * @returns {number} descriptor
 * @throws {NodeJS.ErrnoException} ENOENT if it is gone or is another kind of file by now
 */
function openFile(path) {
  const fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fs.fstatSync(fd).isFile()) return fd;
  fs.closeSync(fd);
  throw Object.assign(new Error('It is no longer a file.'), { code: 'ENOENT' });
}

/**
 * Lists a volume, each folder before its content.
 * @param {string} volume
 * @param {Skipped[]} skipped gets what a backup cannot have
 * @param {number} most entries
 * @returns {Generator<Found, void>} the paths of an entry are valid until the next one
 * @throws {RangeError} if the volume has more entries
 */
function* walk(volume, skipped, most) {
  let left = most;
  /** @param {number} folder @param {string} prefix @returns {Generator<Found, void>} */
  function* list(folder, prefix) {
    const names = fs.readdirSync(below(folder, ''), { encoding: 'buffer' });
    const texts = names.map((bytes) => (isUtf8(bytes) ? bytes.toString() : ''));
    const known = new Set(texts);
    for (const text of texts.sort()) {
      const name = prefix + text;
      if (text === '') skipped.push({ name: `${prefix}…`, why: 'its name is not UTF-8' });
      else if (isLeftOut(name) || isSide(folder, text, known)) continue;
      else if (!isInside(name) || Buffer.byteLength(name) > MAX_NAME_BYTES - 16) {
        skipped.push({ name: name.slice(0, 256), why: 'its name is too long, or too deep' });
      } else {
        if (left-- === 0) throw new RangeError(`The volume has more than ${most} files.`);
        yield* one(name, below(folder, text));
      }
    }
  }
  /** @param {string} name @param {string} path @returns {Generator<Found, void>} */
  function* one(name, path) {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (!stat) return;
    stat.mtimeMs = possibleTime(stat.mtimeMs);
    const found = { name, path, root: `/proc/self/fd/${root}`, stat };
    if (stat.isFile()) yield { ...found, type: 'file' };
    else if (stat.isSymbolicLink()) yield { ...found, type: 'link' };
    else if (stat.isDirectory()) {
      const fd = opened(path);
      if (fd < 0) return;
      try {
        yield { ...found, type: 'folder' };
        yield* list(fd, `${name}/`);
      } finally {
        fs.closeSync(fd);
      }
    } else if (!stat.isSocket()) skipped.push({ name, why: 'it is a device or a pipe' });
  }
  const root = fs.openSync(volume, O_RDONLY | O_DIRECTORY);
  try {
    yield* list(root, '');
  } finally {
    fs.closeSync(root);
  }
}

/** @param {string} path @returns {number} descriptor of the folder, -1 = it is gone or something else by now */
function opened(path) {
  try {
    return fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (isGone(error)) return -1;
    throw error;
  }
}

/** @param {string} name */
const isLeftOut = (name) => SESSIONS.test(name) || LEFT_OUT.some((each) => each.test(name));

/**
 * True for what SQLite keeps beside a database. A copy of the database has its content already, and with an old -wal
 * beside it the copy would be read wrongly.
 * @param {number} folder
 * @param {string} text name in the folder
 * @param {Set<string>} known names in the folder
 */
function isSide(folder, text, known) {
  const [, base = ''] = SIDES.exec(text) ?? [];
  if (base === '' || !known.has(base)) return false;
  try {
    const fd = openFile(below(folder, base));
    try {
      return fs.fstatSync(fd).size === 0 || startsAsDatabase(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return false;
  }
}

/** @param {number} fd @returns {boolean} true if the file begins as an SQLite database */
function startsAsDatabase(fd) {
  const start = Buffer.alloc(DATABASE.length);
  return fs.readSync(fd, start, 0, start.length, 0) === start.length && start.equals(DATABASE);
}

/**
 * True if a file was removed or replaced meanwhile: then it does not belong into the backup.
 * @param {unknown} error
 */
function isGone(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
  return ['ENOENT', 'ELOOP', 'ENOTDIR'].includes(code);
}

module.exports = { isGone, openFile, startsAsDatabase, walk };
