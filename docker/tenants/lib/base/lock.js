'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const { identityOf, livingStat } = require('./processes');

/** @param {string} file @returns {import('./processes').Identity | null} */
function ownerOf(file) {
  try {
    const value = JSON.parse(fs.readFileSync(file, 'utf8'));
    return value && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/**
 * Removes the lock of a process that ended. Two processes may find the same dead owner, so the file is moved away
 * first and looked at again: a lock that another process made meanwhile goes back.
 * @param {string} file
 */
function clear(file) {
  const aside = `${file}.${crypto.randomBytes(6).toString('hex')}`;
  try {
    fs.renameSync(file, aside);
  } catch {
    return;
  }
  const owner = ownerOf(aside);
  if (owner && livingStat(owner)) {
    try {
      fs.linkSync(aside, file);
    } catch {
      // A third process has the lock, and this one sees that at its next try.
    }
  }
  fs.rmSync(aside, { force: true });
}

/**
 * Takes a lock that ends with this process.
 * @param {string} file
 * @returns {{ release: () => void } | { owner: number }} owner: the process that has it
 */
function takeLock(file) {
  const mine = JSON.stringify(identityOf(process.pid));
  const draft = `${file}.${crypto.randomBytes(6).toString('hex')}`;
  fs.writeFileSync(draft, mine, { flag: 'wx', mode: 0o600 });
  try {
    for (let tries = 0; tries < 10; tries++) {
      try {
        // Unlike a new file, a hard link appears together with its content.
        fs.linkSync(draft, file);
        return {
          release: () => {
            if (JSON.stringify(ownerOf(file)) === mine) fs.rmSync(file, { force: true });
          }
        };
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      }
      const owner = ownerOf(file);
      if (owner && livingStat(owner)) return { owner: owner.pid };
      clear(file);
    }
    return { owner: 0 };
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** @param {string} file @returns {boolean} true if a process that runs has the lock */
function isLocked(file) {
  const owner = ownerOf(file);
  return owner !== null && livingStat(owner) !== null;
}

module.exports = { isLocked, takeLock };
