'use strict';
// Files in which a command keeps what it did: whole or not at all, and written by one process at a time.

const fs = require('node:fs');
const { CliError } = require('./cli-error');

/** The exit code where nobody can tell or do. */
const CANNOT = 3;

/** @param {string} directory @param {string} command */
function makeDirectory(directory, command) {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o755 });
    fs.accessSync(directory, fs.constants.W_OK);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new CliError(
      `The state cannot be kept in ${directory}: ${message}. Choose another folder with --state-dir, or set RuntimeDirectory=${command} in the systemd unit.`,
      CANNOT
    );
  }
}

/** In one piece, or not at all. @param {string} file @param {string | Buffer} content */
function writeWhole(file, content) {
  const draft = `${file}.${process.pid}`;
  fs.rmSync(draft, { force: true });
  fs.writeFileSync(draft, content, { flag: 'wx', mode: 0o644 });
  fs.renameSync(draft, file);
}

/** @param {string} file @returns {string} '' when it is gone */
function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** Whether it was there for the taking. A link appears with its content, unlike a file. @param {string} file */
function takeLock(file) {
  const draft = `${file}.${process.pid}`;
  fs.writeFileSync(draft, String(process.pid));
  try {
    fs.linkSync(draft, file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    return false;
  } finally {
    fs.rmSync(draft);
  }
}

/**
 * One at a time. The lock of a process that is dead is taken.
 * @template T @param {string} file @param {(owner: number) => string} busy the sentence while process `owner` has it
 * @param {() => Promise<T>} body @returns {Promise<T>}
 */
async function locked(file, busy, body) {
  while (!takeLock(file)) {
    const owner = Number(readText(file));
    // Its own number: of an earlier life, in a container that was started again.
    if (owner > 0 && owner !== process.pid && isAlive(owner)) throw new CliError(busy(owner), CANNOT);
    fs.rmSync(file, { force: true });
  }
  try {
    return await body();
  } finally {
    fs.rmSync(file, { force: true });
  }
}

module.exports = { makeDirectory, writeWhole, locked, isAlive };
