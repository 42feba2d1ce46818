'use strict';
// Gives up the rights of root. What a user has in a folder of his own may lead anywhere (a symbolic link, a journal of
// SQLite that names a file to delete), and he may exchange it at any moment, so no check of it can protect root. With
// that user's rights, the command can do only what he could do himself.

const os = require('node:os');
const { CliError } = require('./cli-error');
const { isRoot, userOfFile, userOfFolder } = require('./place');

/** @typedef {import('./place').User} User */

const ROOT = 0;
/** The group "nogroup". A user who is not in the list of users must not get the group of root. */
const NO_GROUP = 65534;
/** Exit code when a command could not determine or do something. */
const CANNOT = 3;

/** @type {{ name: string, folder: string } | null} */
let dropped = null;

/** @param {number} uid @returns {{ name: string, gid: number } | null} null: the system has no such user */
function accountOf(uid) {
  // os.userInfo() is about the effective user.
  process.seteuid?.(uid);
  try {
    const { username, gid } = os.userInfo();
    return { name: username, gid };
  } catch {
    return null;
  } finally {
    process.seteuid?.(ROOT);
  }
}

/**
 * Takes a user's groups; the effective user stays.
 * @param {User} user
 * @returns {{ gid: number, name: string }} name: as sudo -u takes it
 */
function takeGroups({ uid, gid: ofFolder }) {
  const account = accountOf(uid);
  if (account) {
    // @types/node does not know it.
    /** @type {any} */ (process).initgroups(account.name, account.gid);
    return account;
  }
  const gid = ofFolder === ROOT ? NO_GROUP : ofFolder;
  process.setgroups?.([gid]);
  return { gid, name: `'#${uid}'` };
}

/** @param {User} user @param {unknown} error */
function refused({ uid, folder }, error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return new CliError(
    `Root may not take the rights of user ${uid}, who owns ${folder} (${code ?? message}). Run the command as that user: sudo -u '#${uid}' …`,
    CANNOT
  );
}

/**
 * Gives up root for good, in all threads. All that needs root must be open already. Linux then keeps other processes of
 * the user from looking into this one, which is not dumpable any more (prctl(2), PR_SET_DUMPABLE).
 * @param {User} user
 * @throws {CliError} if that is not possible
 */
function become(user) {
  if (user.uid === ROOT) return;
  try {
    const { gid, name } = takeGroups(user);
    process.setgid?.(gid);
    process.setuid?.(user.uid);
    if (process.getuid?.() !== user.uid || process.geteuid?.() !== user.uid || canReturn()) {
      throw new Error('the rights of root stayed');
    }
    dropped = { name, folder: user.folder };
  } catch (error) {
    throw refused(user, error);
  }
}

/** True if this process could be root again. */
function canReturn() {
  try {
    process.setuid?.(ROOT);
    return true;
  } catch {
    return false;
  }
}

/**
 * Calls a synchronous function with a user's rights, for a command that needs root later.
 * @template T
 * @param {User} user
 * @param {() => T} work
 * @returns {T}
 */
function withRightsOf(user, work) {
  if (user.uid === ROOT) return work();
  const [groups, group] = [process.getgroups?.() ?? [], process.getegid?.() ?? ROOT];
  const back = () => {
    process.seteuid?.(ROOT);
    process.setegid?.(group);
    process.setgroups?.(groups);
  };
  try {
    process.setegid?.(takeGroups(user).gid);
    process.seteuid?.(user.uid);
  } catch (error) {
    back();
    throw refused(user, error);
  }
  try {
    return work();
  } finally {
    back();
  }
}

/**
 * Makes this process work as the owner of a folder, if it is root and the folder belongs to another user. Call it
 * before anything in the folder is opened.
 * @param {string} folder need not exist: then the nearest folder above it counts
 * @returns {boolean} true if it was root, and is not any more
 * @throws {CliError} if root must not work in the folder
 */
function workAsOwnerOf(folder) {
  if (!isRoot()) return false;
  const user = userOfFolder(folder);
  become(user);
  return user.uid !== ROOT;
}

/**
 * As workAsOwnerOf(), for the owner of the folder of a file.
 * @param {string} file
 * @param {{ isDatabase: boolean }} kind of a database, SQLite uses other files beside it, too
 * @throws {CliError} if root must not work in the folder
 */
function workAsOwnerOfFile(file, { isDatabase }) {
  if (isRoot()) become(userOfFile(file, isDatabase));
}

/** Returns a sentence for an error about rights if root was given up, '' = it was not. */
function droppedNote() {
  if (!dropped) return '';
  return `The command works as ${dropped.name}, who owns ${dropped.folder}, not as root: give that user what it needs (chown).`;
}

module.exports = { become, droppedNote, withRightsOf, workAsOwnerOf, workAsOwnerOfFile };
