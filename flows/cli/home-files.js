'use strict';
// Which files of the gateway's folder belong into a backup, and where its databases are.

const fs = require('node:fs');
const path = require('node:path');
const { SOCKET } = require('../service/control-socket');

/** Made again at need, or of the demo only. */
const LEFT_OUT = ['node_modules', '.npm', 'demo', SOCKET];
/** Files of SQLite beside a database of series or of a directory, which is copied while it is in use. */
const BESIDE_SERIES = /^(?:series|directory)\.(?:lock|db-wal|db-shm)$/;
/** A draft of replaceFile(). */
const DRAFT = /\.[0-9a-f]{12}\.new$/;
const DATABASES = /** @type {const} */ (['log.db', 'commands.db']);

/** @typedef {{ engine: string, directory: string }} LogFolder */

/**
 * Lists the folders with databases: those of the flow's engines, and others beside them, whose engines are disabled or
 * were deleted.
 * @param {string} home
 * @param {Record<string, string>} settings
 * @param {LogFolder[]} [running] as the running gateway reports them
 * @returns {LogFolder[]}
 */
function logFolders(home, settings, running = []) {
  /** @type {Map<string, LogFolder>} by folder */
  const folders = new Map(running.map((each) => [path.resolve(each.directory), each]));
  const base = path.join(home, 'seganet-log');
  for (const { id, logDir } of flowEngines(path.join(home, 'gateway.json'), settings)) {
    const directory = path.resolve(logDir || path.join(base, id));
    if (!folders.has(directory)) folders.set(directory, { engine: id, directory });
  }
  for (const name of entriesOf(base)) {
    const directory = path.join(base, name);
    if (!folders.has(directory)) folders.set(directory, { engine: name, directory });
  }
  const all = [...folders.values()];
  const isLog = (/** @type {string} */ name) => DATABASES.some((file) => file === name) || isAside(name);
  return all.filter(({ directory }) => entriesOf(directory).some(isLog));
}

/** True for a damaged database that was set aside. @param {string} name */
const isAside = (name) => /^(log|commands)\.db\.damaged-/.test(name);

/** @param {string} folder @returns {string[]} empty if it cannot be read */
function entriesOf(folder) {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/**
 * @param {string} file
 * @param {Record<string, string>} settings
 * @returns {{ id: string, logDir: string }[]} the engines of a flow; none if it cannot be read
 */
function flowEngines(file, settings) {
  try {
    const nodes = JSON.parse(fs.readFileSync(file, 'utf8'));
    return nodes
      .filter((/** @type {any} */ { type }) => type === 'seganet-engine')
      .map((/** @type {any} */ { id, logDir = '' }) => ({ id, logDir: resolved(logDir, settings) }));
  } catch {
    return [];
  }
}

/** Replaces a property that names a variable. @param {unknown} value @param {Record<string, string | undefined>} env */
function resolved(value, env) {
  return String(value ?? '').replace(/\$\{([^}]+)\}/g, (_all, name) => env[name] ?? '');
}

/**
 * Lists the regular files of the folder, without the databases of the logs.
 * @param {string} home
 * @param {string[]} without folders of databases
 * @returns {{ files: string[], odd: string[] }} relative names; odd: links and other entries that a backup cannot have
 */
function homeFiles(home, without) {
  /** @type {string[]} */
  const files = [];
  /** @type {string[]} */
  const odd = [];
  const closed = new Set(without.map((each) => path.resolve(each)));
  /** @param {string} below */
  const walk = (below) => {
    for (const entry of fs.readdirSync(path.join(home, below), { withFileTypes: true })) {
      const name = path.join(below, entry.name);
      if (LEFT_OUT.includes(name) || entry.name === 'node_modules' || DRAFT.test(name)) continue;
      if (BESIDE_SERIES.test(entry.name)) continue;
      if (closed.has(path.join(home, name))) continue;
      if (entry.isDirectory()) walk(name);
      else if (entry.isFile()) files.push(name);
      else odd.push(name);
    }
  };
  walk('');
  return { files: files.sort(), odd };
}

/** True for a database of series or of a directory, which a backup copies with SQLite. @param {string} name */
const isSeries = (name) => ['series.db', 'directory.db'].includes(path.basename(name));

module.exports = { DATABASES, entriesOf, homeFiles, isAside, isSeries, logFolders, resolved };
