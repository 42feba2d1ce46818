'use strict';
// Which files of the gateway's folder belong into a backup, and where its databases are.

const fs = require('node:fs');
const path = require('node:path');
const { resolved } = require('../../nodes/lib/base/variable-reference');
const { SOCKET } = require('../service/control-socket');
const { isSide, kindOf } = require('./file-kinds');
const { nodesOf } = require('./flow-ports');

/**
 * The tenants' data, and their backups. A running tenant keeps databases locked, and a hostile tenant controls their
 * content. `seganet-tenants backup` handles both.
 */
const OF_TENANTS = ['volumes', 'backups'].map((name) => path.join('tenants', name));
/** Made again at need, or of the demo only. */
const MADE_AGAIN = [
  ...['node_modules', '.npm', 'demo', 'compile-cache', 'query-cache', SOCKET],
  ...['tenants/keeper.sock', 'tenants/keeper.lock', 'tenants/state/.compile-cache']
];
const LEFT_OUT = [...MADE_AGAIN, ...OF_TENANTS];
/** The lock of a database of series or of a directory. */
const LOCK = /^(?:series|directory)\.lock$/;
/** Drafts of replaceFile() and of backups, and what a running gateway keeps beside its log. */
const LEFTOVERS = [
  /\.[0-9a-f]{8}\.part$/,
  /^\.backup-[0-9a-f]{12}\.db(?:-wal|-shm|-journal)?$/,
  /\.[0-9a-f]{12}\.new$/,
  /^log\.reserve$/,
  /^backup-[0-9a-f]{12}\.db(?:-wal|-shm|-journal)?$/
];
const DATABASES = /** @type {const} */ (['log.db', 'commands.db']);
/** Files in the folder of a log that a backup has by itself, or does not have (sessions). */
const OF_LOG = /^(?:log|commands|sessions)\.db(?:-wal|-shm|-journal|\.damaged-.*)?$/s;

/**
 * @typedef {{ engine: string, directory: string }} EngineFolder
 *
 * @typedef {object} LogFolder
 * @property {string} engine
 * @property {string} directory absolute
 * @property {string} name of the folder in the backup, and in seganet-log after a restore; each once
 */

/**
 * Lists the folders with databases: those of the flow's engines, and others beside them, whose engines are disabled or
 * were deleted, or have their log elsewhere now.
 * @param {string} home
 * @param {Record<string, string | undefined>} settings
 * @param {EngineFolder[]} [running] as the running gateway reports them
 * @returns {LogFolder[]}
 */
function logFolders(home, settings, running = []) {
  const base = path.join(home, 'seganet-log');
  const all = [
    ...running,
    ...enginesOf(home, settings),
    ...entriesOf(base).map((name) => ({ engine: name, directory: path.join(base, name) }))
  ];
  /** @type {Map<string, EngineFolder>} by the folder without symbolic links: it may have several names */
  const folders = new Map();
  for (const { engine, directory } of all) {
    const real = realOf(directory);
    if (!folders.has(real)) folders.set(real, { engine, directory: path.resolve(directory) });
  }
  const hasLog = (/** @type {string} */ folder) => namesIn(folder).some((name) => OF_LOG.test(name));
  const logs = [...folders.values()].filter(
    ({ directory }) => hasLog(directory) || filesBeside(home, directory).databases.length > 0
  );
  return withNames(base, logs);
}

/**
 * @param {string} home
 * @param {Record<string, string | undefined>} settings
 * @returns {EngineFolder[]} of the flow
 */
function enginesOf(home, settings) {
  return flowNodes(home, 'seganet-engine').map(({ id, logDir }) => ({
    engine: id,
    directory: resolved(logDir, settings) || path.join(home, 'seganet-log', id)
  }));
}

/**
 * Lists the folders outside of the gateway's folder in which engines of the flow have their logs, and that do not
 * exist: a disk may not be mounted.
 * @param {string} home
 * @param {Record<string, string | undefined>} settings
 * @returns {string[]}
 */
function absentLogFolders(home, settings) {
  const folders = enginesOf(home, settings).map(({ directory }) => path.resolve(directory));
  return folders.filter((each) => !fs.existsSync(each) && !isInside(realOf(home), realOf(each)));
}

/**
 * Chooses a name for each folder. One in seganet-log keeps its own, because its other files are restored there. One
 * elsewhere gets the engine's id, with a number behind it if seganet-log has such a folder already.
 * @param {string} base
 * @param {EngineFolder[]} logs
 * @returns {LogFolder[]}
 */
function withNames(base, logs) {
  const isInBase = (/** @type {EngineFolder} */ { directory }) =>
    realOf(path.dirname(directory)) === realOf(base);
  const inside = logs.filter(isInBase).map(({ directory }) => path.basename(directory));
  const taken = new Set([...inside, ...entriesOf(base).filter((name) => isSaved(path.join(base, name)))]);
  return logs.map((log) => {
    if (isInBase(log)) return { ...log, name: path.basename(log.directory) };
    let name = log.engine;
    for (let number = 2; taken.has(name); number++) name = `${log.engine}-${number}`;
    taken.add(name);
    return { ...log, name };
  });
}

/** True if a backup has a file of that name or below it. @param {string} name */
function isSaved(name) {
  const stat = fs.lstatSync(name, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.isFile() ?? false;
  return entriesOf(name).some((each) => !LEFTOVERS.some((leftover) => leftover.test(each)));
}

/**
 * Lists the files in a log folder outside of the gateway's folder, which homeFiles() does not find.
 * @param {string} home
 * @param {string} directory of a log
 * @returns {{ databases: string[], unreadable: { name: string, code: string }[] }} names, without those of the log
 *   itself; unreadable: what cannot be opened, and may be a database
 */
function filesBeside(home, directory) {
  /** @type {ReturnType<typeof filesBeside>} */
  const found = { databases: [], unreadable: [] };
  if (isInside(realOf(home), realOf(directory))) return found;
  for (const name of namesIn(directory)) {
    if (OF_LOG.test(name) || LEFTOVERS.some((each) => each.test(name))) continue;
    const file = path.join(directory, name);
    try {
      if (fs.lstatSync(file).isFile() && kindOf(file) === 'database') found.databases.push(name);
    } catch (error) {
      const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
      // ENOENT: removed meanwhile. ELOOP, EINVAL: replaced by a link or another entry, which are left out here.
      if (!['ENOENT', 'ELOOP', 'EINVAL'].includes(code)) found.unreadable.push({ name, code });
    }
  }
  return found;
}

/** @param {string} folder @returns {string} without symbolic links; as it is if it does not exist */
function realOf(folder) {
  try {
    return fs.realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}

/** @param {string} folder @param {string} name */
const isInside = (folder, name) => !`${path.relative(folder, name)}${path.sep}`.startsWith(`..${path.sep}`);

/** True for a damaged database that was set aside. @param {string} name */
const isAside = (name) => /^(log|commands)\.db\.damaged-/.test(name);

/**
 * Returns what `look` returns, or `rest` if its file was removed meanwhile: a running gateway replaces files.
 * @template T
 * @param {() => T} look
 * @param {T} rest
 * @returns {T}
 */
function unlessGone(look, rest) {
  try {
    return look();
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return rest;
    throw error;
  }
}

/** @param {string} folder of a log @returns {string[]} empty if there is no such folder */
function namesIn(folder) {
  try {
    return fs.readdirSync(folder).sort();
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    if (['ENOENT', 'ENOTDIR'].includes(code)) return [];
    throw error;
  }
}

/** @param {string} folder @returns {string[]} empty if it cannot be read */
function entriesOf(folder) {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** @param {string} home @param {string} type @returns {any[]} the nodes of a flow; none if it cannot be read */
function flowNodes(home, type) {
  return nodesOf(path.join(home, 'gateway.json')).filter((node) => node.type === type);
}

/**
 * Lists the files in which ocf cloud nodes have their accounts, if they name one.
 * @param {string} home
 * @param {Record<string, string | undefined>} settings
 * @returns {string[]} absolute
 */
function accountsFiles(home, settings) {
  const files = flowNodes(home, 'seganet-ocf-cloud').map(({ storeFile }) => resolved(storeFile, settings));
  return files.filter((file) => path.isAbsolute(file)).map((file) => path.resolve(file));
}

/**
 * Lists the accounts that are neither in the folder nor in that of a log.
 * @param {string} home
 * @param {string[]} accounts
 * @param {EngineFolder[]} logs
 * @returns {string[]}
 */
function accountsElsewhere(home, accounts, logs) {
  const isIn = (/** @type {string} */ file) =>
    isInside(realOf(home), realOf(file)) || logs.some(({ directory }) => path.dirname(file) === directory);
  return accounts.filter((file) => !isIn(file));
}

/**
 * @typedef {object} HomeFiles relative names
 * @property {string[]} files
 * @property {string[]} databases of SQLite, which a copy of the file would tear while it is in use
 * @property {string[]} backups earlier ones: with them, each backup would have all that were made before
 * @property {string[]} odd links and other entries that a backup cannot have
 */

/**
 * Lists the regular files of the folder, without the databases of the logs.
 * @param {string} home
 * @param {string[]} logs folders of logs, also of those that a running gateway may begin meanwhile
 * @param {string} target the file of the backup, which is left out
 * @returns {HomeFiles}
 */
function homeFiles(home, logs, target) {
  /** @type {HomeFiles} */
  const found = { files: [], databases: [], backups: [], odd: [] };
  const targetFile = path.join(realOf(path.dirname(target)), path.basename(target));
  const foldersOfLogs = new Set(logs.map(realOf));
  const root = realOf(home);
  /** @param {string} below */
  const walk = (below) => {
    const folder = path.join(root, below);
    const list = () => fs.readdirSync(folder, { withFileTypes: true });
    const entries = below === '' ? list() : unlessGone(list, []);
    const regular = new Set(entries.filter((entry) => entry.isFile()).map((entry) => entry.name));
    for (const entry of entries) {
      const name = path.join(below, entry.name);
      if (LEFT_OUT.includes(name) || entry.name === 'node_modules') continue;
      if (entry.isFile() && [...LEFTOVERS, LOCK].some((each) => each.test(entry.name))) continue;
      if (foldersOfLogs.has(folder) && OF_LOG.test(entry.name)) continue;
      if (entry.isDirectory()) walk(name);
      else if (!entry.isFile()) found.odd.push(name);
      else if (path.join(folder, entry.name) !== targetFile) {
        const kind = unlessGone(
          () => (isSide(folder, entry.name, regular) ? 'side' : kindOf(path.join(folder, entry.name))),
          'gone'
        );
        if (kind === 'database') found.databases.push(name);
        else if (kind === 'backup') found.backups.push(name);
        else if (kind === 'empty' || kind === 'other') found.files.push(name);
      }
    }
  };
  walk('');
  for (const names of Object.values(found)) names.sort();
  return found;
}

module.exports = {
  DATABASES,
  OF_TENANTS,
  absentLogFolders,
  accountsElsewhere,
  accountsFiles,
  entriesOf,
  filesBeside,
  homeFiles,
  isAside,
  logFolders,
  realOf
};
