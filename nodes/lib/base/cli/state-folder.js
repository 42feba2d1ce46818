'use strict';
// Files in which a command keeps its state. They are written atomically, by one process at a time.

const fs = require('node:fs');
const { CliError } = require('./cli-error');

/** Exit code: the result is unknown, or the command is not possible. */
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

/**
 * Writes a file atomically.
 * @param {string} file
 * @param {string | Buffer} content
 */
function writeWhole(file, content) {
  const draft = `${file}.${process.pid}`;
  fs.rmSync(draft, { force: true });
  fs.writeFileSync(draft, content, { flag: 'wx', mode: 0o644 });
  fs.renameSync(draft, file);
}

/** @param {string} file @returns {string} '' if there is no file */
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

/**
 * True if this call created the lock. A hard link appears together with its content, unlike a new file.
 * @param {string} file
 */
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
 * Calls a function while it holds a lock. The lock of a dead process is taken over.
 * @template T
 * @param {string} file
 * @param {(owner: number) => string} busy the error while process `owner` holds the lock
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
async function locked(file, busy, body) {
  while (!takeLock(file)) {
    const owner = Number(readText(file));
    // Our own process id is from an earlier run: a restarted container reuses process ids.
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
