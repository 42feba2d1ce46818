'use strict';

// Keeps the compiled code of the modules on disk (https://nodejs.org/api/module.html#module-compile-cache), which
// saves about a quarter of the processor time of a start. Who may write there decides what the gateway executes: the
// folder is in SEGANET_HOME, as the flow is. NODE_COMPILE_CACHE names another one, NODE_DISABLE_COMPILE_CACHE=1 uses
// none.

const fs = require('fs');
const { enableCompileCache, flushCompileCache, getCompileCacheDir } = require('module');
const os = require('os');
const path = require('path');

const FOLDER = 'compile-cache';
/** Time after the start until the code is written. By then what a start needs was compiled. */
const WRITE_MS = 10_000;

/** @param {NodeJS.ProcessEnv} env @returns {string} */
const folderOf = ({ SEGANET_HOME: home = '' }) =>
  path.join(path.resolve(home.trim() || path.join(os.homedir(), '.seganet')), FOLDER);

/** True for a folder in which no other user may write. @param {string} folder */
function isClosed(folder) {
  try {
    const stat = fs.statSync(folder);
    return stat.isDirectory() && (stat.mode & 0o022) === 0;
  } catch {
    return false;
  }
}

/**
 * Reads compiled code from now on, if an earlier run has made the folder. The launcher has not refused a folder of
 * SEGANET_HOME that others may write to yet, and V8 executes what is there.
 * @param {NodeJS.ProcessEnv} [env]
 */
function useCompileCache(env = process.env) {
  const folder = folderOf(env);
  if (getCompileCacheDir() || !isClosed(path.dirname(folder)) || !isClosed(folder)) return;
  enableCompileCache(folder);
}

/**
 * Writes what was compiled so far. The first run only makes the folder, unless it ends before.
 * @param {NodeJS.ProcessEnv} [env]
 */
function writeCompileCache(env = process.env) {
  const folder = folderOf(env);
  const used = getCompileCacheDir();
  try {
    if (used) flushCompileCache();
    else if (!env.NODE_DISABLE_COMPILE_CACHE) fs.mkdirSync(folder, { mode: 0o700 });
    // Another cache is not this one's to clean.
    if (used && path.dirname(used) === folder) removeOld(folder);
  } catch {
    // It exists, or the disk is full or read-only: starts take their usual time.
  }
}

/**
 * Removes the code of other versions of Node.js, which are not used again. Each has a folder of its own, such as
 * v24.21.0-x64-964aae3f-1000.
 * @param {string} folder
 */
function removeOld(folder) {
  for (const name of fs.readdirSync(folder))
    if (!name.startsWith(`${process.version}-`))
      fs.rmSync(path.join(folder, name), { recursive: true, force: true });
}

/** Writes the compiled code when the start is over. Does not keep the process alive. */
function writeCompileCacheLater() {
  setTimeout(() => writeCompileCache(), WRITE_MS).unref();
}

module.exports = { useCompileCache, writeCompileCache, writeCompileCacheLater };
