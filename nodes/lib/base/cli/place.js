'use strict';
// Finds out whose folder a command of root works in. The way to it is walked folder by folder, each held open and never
// followed by name again, so that nobody can exchange a part that was looked at.

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('./cli-error');

/** Opens a folder only to look at it, and to reach what is in it: open(2). Node has no name for it. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW } = fs.constants;
/** As many symbolic links as Linux follows: path_resolution(7). */
const MOST_LINKS = 40;
const ROOT = 0;
const STICKY = 0o1000;
/** Exit code when a command could not determine or do something. */
const CANNOT = 3;

/**
 * @typedef {object} Place
 * @property {number} fd of the last folder that exists; the caller closes it
 * @property {string} folder its path without symbolic links
 * @property {fs.Stats} stat of it
 * @property {string[]} rest names below it: of a file, or of what does not exist yet
 * @property {Map<number, string>} others users other than root who own a folder or a link of the way, and the first one
 *   of each
 * @property {string} open a folder of the way whose entries a group or everybody may exchange, '' = none
 */

/** @typedef {{ uid: number, gid: number, folder: string }} User of a folder; uid 0: root */

/** @param {string} message */
const cannot = (message) => new CliError(message, CANNOT);

/** True if this process has the rights of root. */
const isRoot = () => process.geteuid?.() === ROOT;

/**
 * Returns a path that leads to an entry of an open folder, whatever becomes of the folder's name.
 * @param {number} fd
 * @param {string} name
 */
const within = (fd, name) => `/proc/self/fd/${fd}/${name}`;

/**
 * Walks to a file or folder, which need not exist.
 * @param {string} name
 * @returns {Place}
 */
function walk(name) {
  const way = path.resolve(name).split('/').filter(Boolean);
  let links = 0;
  let fd = fs.openSync('/', O_PATH | O_DIRECTORY);
  /** @type {Place} */
  const place = { fd, folder: '/', stat: fs.fstatSync(fd), rest: [], others: new Map(), open: '' };
  /** @param {number} next @param {string} folder */
  const enter = (next, folder) => {
    fs.closeSync(fd);
    fd = next;
    const stat = fs.fstatSync(fd);
    Object.assign(place, { fd, folder, stat });
    count(place, stat, folder);
    if (place.open === '' && isOpen(stat) && !(stat.mode & STICKY)) place.open = folder;
  };
  try {
    while (way.length > 0) {
      const part = /** @type {string} */ (way.shift());
      const full = path.join(place.folder, part);
      const found = fs.lstatSync(within(fd, part), { throwIfNoEntry: false });
      if (found?.isSymbolicLink()) {
        if (++links > MOST_LINKS) throw cannot(`${name} has too many symbolic links.`);
        count(place, found, full);
        const target = fs.readlinkSync(within(fd, part));
        way.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'));
        if (target.startsWith('/')) enter(fs.openSync('/', O_PATH | O_DIRECTORY), '/');
      } else if (found?.isDirectory()) {
        enter(fs.openSync(within(fd, part), O_PATH | O_DIRECTORY | O_NOFOLLOW), full);
      } else {
        place.rest = [part, ...way];
        break;
      }
    }
    return place;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** @param {Place} place @param {fs.Stats} stat @param {string} name */
function count({ others }, { uid }, name) {
  if (uid !== ROOT && !others.has(uid)) others.set(uid, name);
}

/** True if others than the owner may write. The group of root does not count. @param {fs.Stats} stat */
const isOpen = ({ mode, gid }) => (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== ROOT);

/**
 * Decides with whose rights root works in a place.
 * @param {Place} place
 * @param {string} name for the error
 * @param {boolean} isWhole true: several files of the folder are used, so that not even in a folder such as /tmp, where
 *   each user has his own files, others may have some
 * @returns {User}
 * @throws {CliError} if several users could exchange parts of the way
 */
function userOf({ folder, stat, others, open }, name, isWhole) {
  const [first] = others;
  if (!first) {
    const loose = open || (isWhole && isOpen(stat) ? folder : '');
    if (!loose) return { uid: ROOT, gid: stat.gid, folder };
    throw cannot(
      `${loose} is writable by other users, so root must not work in ${name}. Run "chmod go-w ${loose}", or give the folder to the user of the gateway.`
    );
  }
  const [uid, where] = first;
  if (others.size === 1 && stat.uid === uid) return { uid, gid: stat.gid, folder };
  const owners = [...others].map(([each, which]) => `${which} belongs to user ${each}`);
  if (!others.has(stat.uid))
    owners.push(`${folder} belongs to ${stat.uid === ROOT ? 'root' : `user ${stat.uid}`}`);
  throw cannot(
    `Root must not work in ${name}, because several users could exchange it: ${owners.join(', ')}. ` +
      `Run the command as the gateway's user (sudo -u '#${stat.uid || uid}' …), or give all folders below ${where} to one user.`
  );
}

/**
 * Tells with whose rights root has to work in a folder, or in the nearest existing folder above it.
 * @param {string} name
 * @returns {User & { real: string }} real: the path without symbolic links
 * @throws {CliError} if root must not work there
 */
function userOfFolder(name) {
  return inPlace(name, (place) => ({
    ...userOf(place, name, place.rest.length === 0),
    real: path.join(place.folder, ...place.rest)
  }));
}

/**
 * As userOfFolder(), for a file that exists.
 * @param {string} name
 * @param {boolean} isWhole of userOf()
 * @returns {User}
 */
const userOfFile = (name, isWhole) => inPlace(name, (place) => userOf(place, name, isWhole));

/**
 * Returns why root must not open a database, as a sentence; '' = it may, or this process is not root. SQLite creates
 * files beside a database, even to read it, and follows links to them.
 * @param {string} file
 * @returns {string}
 */
function foreignFault(file) {
  if (!isRoot()) return '';
  try {
    const { uid, folder } = userOfFile(file, true);
    if (uid === ROOT) return '';
    return `${file} is in ${folder}, which belongs to user ${uid}, so root does not open it. Run the command as that user.`;
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

/**
 * Throws if root would keep the state of a command in a folder that another user could change.
 * @param {string} folder need not exist
 * @throws {CliError}
 */
function refuseForeignState(folder) {
  if (!isRoot()) return;
  const { uid } = userOfFolder(folder);
  if (uid === ROOT) return;
  throw cannot(
    `Root must not keep its state in ${folder}, which user ${uid} could change. Choose a folder of root with --state-dir.`
  );
}

/**
 * Calls a function with a place, and closes the place.
 * @template T
 * @param {string} name
 * @param {(place: Place) => T} work
 * @returns {T}
 */
function inPlace(name, work) {
  const place = placeOf(name);
  try {
    return work(place);
  } finally {
    fs.closeSync(place.fd);
  }
}

/** @param {string} name @returns {Place} the caller closes its fd */
function placeOf(name) {
  if (!fs.existsSync('/proc/self/fd')) {
    throw cannot(
      `/proc is not mounted, so root cannot work safely in ${name}. Run the command as the gateway's user.`
    );
  }
  try {
    return walk(name);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (error instanceof CliError) throw error;
    throw cannot(`Root cannot look at ${name} (${code ?? message}). Run the command as the gateway's user.`);
  }
}

module.exports = {
  foreignFault,
  inPlace,
  isRoot,
  placeOf,
  refuseForeignState,
  userOf,
  userOfFile,
  userOfFolder,
  within
};
