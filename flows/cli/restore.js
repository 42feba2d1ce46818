'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { plural } = require('../../nodes/lib/base/cli/cli-output');
const { inPlace, isRoot, userOf, userOfFolder } = require('../../nodes/lib/base/cli/place');
const { become } = require('../../nodes/lib/base/cli/rights');
const { openToRead } = require('../../nodes/lib/store/cli/open');
const { loadSqlite } = require('../../nodes/lib/store/cli/sqlite');
const { TooLarge, unpack } = require('./archive');
const { openArchive } = require('./archive-file');
const { isRunning } = require('./gateway-client');
const { OF_TENANTS, entriesOf, logFolders } = require('./home-files');
const { environmentOf, homeOf, settingsOf } = require('./home-settings');
const { helperSteps, ownSteps, syncFolder } = require('./root-helper');
const { EXIT } = require('./usage');

/** @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output */

/** Part of the free space that a restore may fill: the gateway needs some, too. */
const MOST_OF_FREE = 0.95;

/** @param {string} message */
const cannot = (message) => new CliError(message, EXIT.CANNOT);

/**
 * @param {import('./usage').Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function restore({ home: given, file, force, mostGib }, output) {
  process.umask(0o077);
  const asked = homeOf(given);
  const user = isRoot() ? userOfFolder(asked) : null;
  const home = user?.real ?? realOf(asked);
  const archive = openArchive(file, user);
  // What is loaded later may not be readable for that user.
  loadSqlite();
  const stage = `${home}.restore-${crypto.randomBytes(4).toString('hex')}`;
  const steps = stepsOf(stage, home, user);
  try {
    if (user) become(user);
    await refuse(home, force);
    await steps.ask('begin').catch((error) => {
      throw cannot(`${stage} cannot be created: ${error.message}.`);
    });
    const most = mostBytes(stage, mostGib);
    const manifest = await unpack(archive, stage, most).catch((error) => {
      throw error instanceof TooLarge ? tooLarge(file, home, most, mostGib) : inWords(error, file, home);
    });
    const { restored, renamed } = arrange(stage);
    adopt(restored, home);
    syncTree(restored);
    const aside = await steps.ask('commit').catch((error) => {
      throw cannot(`${home} cannot be replaced: ${error.message}.`);
    });
    output.line(
      `${home}: restored the backup of ${manifest.created}, ${plural(manifest.logs.length, 'log')}`
    );
    if (aside) await reportAside(home, aside, output);
    await reportElsewhere(home, manifest, renamed, output);
    return EXIT.OK;
  } finally {
    empty(stage);
    await steps.ask('discard').catch(() => {});
    steps.end();
  }
}

/**
 * Returns the steps of a restore in the folder above the gateway's. If that one is root's, they need root, even if the
 * gateway's folder belongs to another user.
 * @param {string} stage
 * @param {string} home
 * @param {import('./archive-file').User | null} user whose rights root takes
 */
function stepsOf(stage, home, user) {
  const parent = path.dirname(home);
  const above = user && inPlace(parent, (place) => userOf(place, parent, false));
  if (!user || !above || above.uid === user.uid) return ownSteps('restore', { stage, home, user: null });
  return helperSteps('restore', { stage, home, user });
}

/** Returns how many bytes a backup may unpack. @param {string} stage @param {number} mostGib */
function mostBytes(stage, mostGib) {
  const { bavail, bsize } = fs.statfsSync(stage);
  return Math.max(0, Math.min(mostGib * 2 ** 30, bavail * bsize * MOST_OF_FREE));
}

/** @param {string} file @param {string} home @param {number} most @param {number} mostGib */
function tooLarge(file, home, most, mostGib) {
  if (most < mostGib * 2 ** 30) return noSpace(home);
  return cannot(
    `${file} cannot be restored: its files are larger together than ${mostGib} GiB. If that is right, allow more with --most-gib. Nothing was changed.`
  );
}

/** @param {string} home */
const noSpace = (home) => cannot(`There is no space left beside ${home}. Nothing was changed.`);

/** Removes what is in the stage, with the rights of who unpacked it. @param {string} stage */
function empty(stage) {
  for (const name of entriesOf(stage)) fs.rmSync(path.join(stage, name), { recursive: true, force: true });
}

/** @param {string} home @returns {string} without symbolic links, so that the folder itself is replaced */
function realOf(home) {
  return fs.existsSync(home) ? fs.realpathSync(home) : home;
}

/**
 * Throws if the folder must not be replaced.
 * @param {string} home
 * @param {boolean} force
 */
async function refuse(home, force) {
  if (await isRunning(home)) {
    throw cannot(`The gateway in ${home} is running. Stop it, and run the command again.`);
  }
  const stat = fs.statSync(home, { throwIfNoEntry: false });
  if (!stat) return;
  if (!stat.isDirectory()) throw cannot(`${home} is not a folder.`);
  if (fs.statSync(path.dirname(home)).dev !== stat.dev) {
    throw cannot(
      `${home} is a mount point, which cannot be replaced at once. Restore into a folder below it with --home.`
    );
  }
  if (fs.readdirSync(home).length > 0 && !force) {
    throw cannot(`${home} is not empty. Choose another folder with --home, or set it aside with --force.`);
  }
  // A gateway of a Node-RED that has no control socket still holds its log.
  const env = environmentOf(home);
  for (const { directory } of logsOf(home, { ...env, ...settingsOf(env).values })) {
    const log = path.join(directory, 'log.db');
    if (fs.statSync(log, { throwIfNoEntry: false })?.size) checkClosed(log);
  }
}

/** @param {string} home @param {Record<string, string | undefined>} settings */
function logsOf(home, settings) {
  try {
    return logFolders(home, settings);
  } catch (error) {
    const { code = '', path: place = home } = /** @type {NodeJS.ErrnoException} */ (error);
    throw cannot(
      `${place} cannot be read (${code}), so a gateway may be using its log. Run the command as the gateway's user.`
    );
  }
}

/** Throws if a gateway has the log open; a damaged log may be replaced. @param {string} log */
function checkClosed(log) {
  try {
    openToRead(log).close();
  } catch (error) {
    if (/in use by another process/.test(/** @type {Error} */ (error).message)) throw error;
  }
}

/**
 * Puts the unpacked files where a gateway expects them, and opens each log. If other files are already in the place of
 * a log's files, the log gets a folder with a number. This happens with older backups of two logs of one engine.
 * @param {string} stage
 * @returns {{ restored: string, renamed: Map<string, string> }} the new folder of the gateway, and new names of logs
 */
function arrange(stage) {
  const [restored, logs] = [path.join(stage, 'home'), path.join(stage, 'log')];
  fs.mkdirSync(restored, { recursive: true, mode: 0o700 });
  const target = path.join(restored, 'seganet-log');
  fs.mkdirSync(target, { recursive: true, mode: 0o700 });
  /** @type {Map<string, string>} */
  const renamed = new Map();
  const saved = entriesOf(logs);
  for (const name of saved) {
    const files = entriesOf(path.join(logs, name));
    const isTaken = (/** @type {string} */ each) =>
      (each !== name && saved.includes(each)) ||
      files.some((file) => fs.existsSync(path.join(target, each, file)));
    let folder = name;
    for (let number = 2; isTaken(folder); number++) folder = `${name}-${number}`;
    if (folder !== name) renamed.set(name, folder);
    // The folder exists if it has other files than the log, such as the accounts of an ocf cloud node.
    fs.mkdirSync(path.join(target, folder), { recursive: true, mode: 0o700 });
    for (const file of files) fs.renameSync(path.join(logs, name, file), path.join(target, folder, file));
    const log = path.join(target, folder, 'log.db');
    if (!fs.existsSync(log)) continue;
    openToRead(log).close();
    // What SQLite leaves behind a reader.
    for (const suffix of ['-wal', '-shm']) fs.rmSync(log + suffix, { force: true });
  }
  return { restored, renamed };
}

/**
 * Gives root's files the group of the folder that they replace, or of the folder above it. Files of another user are
 * already his.
 * @param {string} restored
 * @param {string} home
 */
function adopt(restored, home) {
  if (!isRoot()) return;
  const { gid } = fs.statSync(fs.existsSync(home) ? home : path.dirname(home));
  for (const name of ['', ...fs.readdirSync(restored, { recursive: true, encoding: 'utf8' })]) {
    fs.lchownSync(path.join(restored, name), process.getuid?.() ?? 0, gid);
  }
}

/** Syncs each folder; the files are synced already. @param {string} folder */
function syncTree(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) syncTree(path.join(folder, entry.name));
  }
  syncFolder(folder);
}

/**
 * Reports where the replaced folder is, and the tenants' data in it, which no backup contains.
 * @param {string} home
 * @param {string} aside
 * @param {Output} output
 */
async function reportAside(home, aside, output) {
  output.line(`The folder that was there is ${aside}.`);
  for (const name of OF_TENANTS) {
    const [before, now] = [path.join(aside, name), path.join(home, name)];
    if (entriesOf(before).length === 0 || fs.existsSync(now)) continue;
    await output.note(
      `seganet-gateway: ${before} was not in the backup. Move it to ${now} before the keeper of the tenants starts.`
    );
  }
}

/**
 * Reports logs whose engines look for them elsewhere.
 * @param {string} home
 * @param {import('./archive').Manifest} manifest
 * @param {Map<string, string>} renamed
 * @param {Output} output
 */
async function reportElsewhere(home, manifest, renamed, output) {
  for (const { engine, directory, name: saved = engine } of manifest.logs) {
    const name = renamed.get(saved) ?? saved;
    const restored = path.join(home, 'seganet-log', name);
    if ([restored, path.join(manifest.home, 'seganet-log', engine)].includes(directory)) continue;
    const remedy =
      name === engine
        ? 'unset SEGANET_LOG_DIR'
        : `name the new folder in SEGANET_LOG_DIR, or in the engine's Log folder`;
    await output.note(
      `seganet-gateway: The log of ${engine} was in ${directory} and is now in ${restored}. ` +
        `Move it there before the start, or ${remedy}.`
    );
  }
}

/** @param {any} error @param {string} file @param {string} home @returns {Error} */
function inWords(error, file, home) {
  const { code = '', message } = error;
  if (error instanceof CliError) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return noSpace(home);
  }
  if (/^Z_/.test(code))
    return cannot(`${file} cannot be restored: it is damaged (${message}). Nothing was changed.`);
  if (/^E[A-Z]+$/.test(code)) return cannot(`${file} cannot be restored: ${message}. Nothing was changed.`);
  return cannot(`${file} cannot be restored: ${message}. Nothing was changed.`);
}

exports.restore = restore;
