// A lock between processes: a folder that contains the owner's process id (mkdir is atomic everywhere). ES5, see
// run.js.
//
// It only saves a second download: the protected folder is renamed into place complete, so a lock that is wrongly
// considered stale costs time, but never breaks the folder.
'use strict';

var fs = require('fs');
var path = require('path');

var POLL_MS = 200;
var STALE_MS = 15 * 60 * 1000;

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}

/** @param {string} lock */
function ownerOf(lock) {
  try {
    return Number(fs.readFileSync(path.join(lock, 'pid'), 'utf8'));
  } catch (error) {
    return 0; // just created, its owner has not written its id yet
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * True if the owner is dead, or the lock is too old to trust (another host or container may share the folder).
 * @param {string} lock
 */
function isStale(lock) {
  var age;
  try {
    age = Date.now() - fs.statSync(lock).mtime.getTime();
  } catch (error) {
    return false; // gone meanwhile: the next try gets it
  }
  var owner = ownerOf(lock);
  return age > STALE_MS || (owner !== 0 && !isAlive(owner));
}

/** @param {string} lock */
function drop(lock) {
  // Renamed first: of several processes that find it stale, only one succeeds.
  var aside = lock + '.' + process.pid;
  try {
    fs.renameSync(lock, aside);
    try {
      fs.unlinkSync(path.join(aside, 'pid'));
    } finally {
      fs.rmdirSync(aside);
    }
  } catch (error) {
    return;
  }
}

/**
 * Takes the lock. Waits for its owner while that process is alive.
 * @param {string} lock
 * @param {(error: Error | null, release?: () => void) => void} callback
 */
function takeLock(lock, callback) {
  try {
    fs.mkdirSync(lock);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      callback(new Error('Cannot lock ' + lock + ': ' + /** @type {Error} */ (error).message));
      return;
    }
    if (isStale(lock)) {
      drop(lock);
    }
    setTimeout(takeLock, POLL_MS, lock, callback);
    return;
  }
  fs.writeFileSync(path.join(lock, 'pid'), String(process.pid));
  callback(null, function () {
    drop(lock);
  });
}

module.exports = { takeLock: takeLock };
