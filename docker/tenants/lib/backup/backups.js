'use strict';
// The folder of backups: names, new backups, and which are kept.
//
// TENANT-20261123T021500123Z.tar.zst, with .age behind it if it is encrypted.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { takeLock } = require('../base/lock');
const { syncFolder } = require('../../../../nodes/lib/base/replace-file');
const { writeArchive } = require('./archive');
const { CipherError, checkPassphrase } = require('./passphrase');
const { nothingSaved, tarOf } = require('./save');

const STAMP = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.tar\.zst(\.age)?$/;
const DAY_MS = 86_400_000;
const KEEP = { daily: 7, weekly: 4 };
/** Bytes of a volume, unless its tenant has a limit. */
const MOST_BYTES = 64 * 2 ** 30;

/**
 * @typedef {{ file: string, at: number, bytes: number }} Backup at: ms since 1970
 *
 * @typedef {object} Made
 * @property {string} file
 * @property {string} sha256 of the file
 * @property {number} bytes of the file
 * @property {number} volumeBytes
 * @property {number} files
 * @property {number} databases
 * @property {import('./volume').Skipped[]} skipped
 * @property {string[]} warnings sentences
 * @property {number} ms
 * @property {string[]} removed older backups
 */

/** @param {string} tenant @param {Date} at @param {'' | '.age'} [ending] */
function nameOf(tenant, at, ending = '') {
  return `${tenant}-${at.toISOString().replace(/[-:.]/g, '')}.tar.zst${ending}`;
}

/** @param {string} folder @param {string} tenant @returns {Backup[]} the newest first */
function listBackups(folder, tenant) {
  /** @type {string[]} */
  let names = [];
  try {
    names = fs.readdirSync(folder);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
  const backups = names.flatMap((name) => {
    const stamp = name.startsWith(`${tenant}-`) ? STAMP.exec(name.slice(tenant.length + 1)) : null;
    if (!stamp) return [];
    const file = path.join(folder, name);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    const [year, month, day, hour, minute, second, ms] = stamp.slice(1, 8).map(Number);
    const at = Date.UTC(year, month - 1, day, hour, minute, second, ms);
    return stat?.isFile() ? [{ file, at, bytes: stat.size }] : [];
  });
  return backups.sort((a, b) => b.at - a.at);
}

/**
 * Returns the backups that may go. Kept are those of the 24 hours before the newest one, the newest of each of the
 *   latest
 * `daily` days that have one, and the newest of each of the latest `weekly` weeks (from Monday, UTC) that have one. A
 *   gap
 * in the days removes nothing.
 * @param {Backup[]} backups the newest first
 * @param {{ daily: number, weekly: number }} keep
 * @returns {Backup[]}
 */
function superfluous(backups, { daily, weekly }) {
  const kept = new Set(backups.filter(({ at }) => backups[0].at - at < DAY_MS));
  const choose = (/** @type {(at: number) => number} */ periodOf, /** @type {number} */ most) => {
    const periods = new Set();
    for (const backup of backups) {
      const period = periodOf(backup.at);
      if (periods.has(period)) continue;
      if (periods.size === most) return;
      periods.add(period);
      kept.add(backup);
    }
  };
  choose((at) => Math.floor(at / DAY_MS), daily);
  // 1970-01-01 was a Thursday.
  choose((at) => Math.floor((at / DAY_MS + 3) / 7), weekly);
  return backups.filter((backup) => !kept.has(backup));
}

/**
 * Makes a backup of a volume, which may be in use, and removes backups that are no longer kept. After a failure, or if
 * this process is killed, there is no new backup and none is removed.
 * @param {object} what
 * @param {string} what.tenant name
 * @param {object | null} [what.definition] entry of the tenants file
 * @param {string} what.volume
 * @param {string} what.folder
 * @param {string} [what.passphrase] '' = none
 * @param {string[]} [what.recipients] for age; with neither it is not encrypted
 * @param {{ daily: number, weekly: number }} [what.keep]
 * @param {number} [what.mostBytes] of the volume
 * @param {() => Date} [what.now]
 * @returns {Promise<Made>}
 * @throws {CliError}
 */
async function makeBackup(what) {
  const { tenant, definition = null, folder, passphrase = '', keep = KEEP, mostBytes = MOST_BYTES } = what;
  const { recipients = [], now = () => new Date() } = what;
  if (passphrase) checkPassphrase(passphrase);
  if (passphrase && recipients.length > 0) {
    throw new CliError('A backup is encrypted with a passphrase or for recipients, not both.', EXIT.USAGE);
  }
  const volume = realVolume(what.volume);
  makeFolder(folder);
  if (isBelow(folder, volume))
    throw new CliError(`${folder} is in the volume itself. Choose another folder.`);
  const lock = takeLock(path.join(folder, `.${tenant}.lock`));
  if ('owner' in lock) throw new CliError(`Process ${lock.owner} is making a backup of ${tenant}.`);
  const began = performance.now();
  const at = now();
  const name = nameOf(tenant, at, passphrase || recipients.length > 0 ? '.age' : '');
  const file = path.join(folder, name);
  const draft = path.join(folder, `.${name}.part`);
  removeLeftovers(folder, tenant);
  const staging = path.join(folder, `.${tenant}-staging-${crypto.randomBytes(6).toString('hex')}`);
  const saved = nothingSaved();
  try {
    fs.mkdirSync(staging, { mode: 0o700 });
    const source = { tenant, definition, volume, staging, most: mostBytes };
    await writeArchive(draft, tarOf(source, saved, at), { passphrase, recipients });
    if (fs.existsSync(file)) throw new CliError(`${file} exists.`);
    fs.renameSync(draft, file);
    syncFolder(folder);
  } catch (error) {
    throw inWords(error, tenant, folder);
  } finally {
    fs.rmSync(draft, { force: true });
    fs.rmSync(staging, { recursive: true, force: true });
    lock.release();
  }
  const removed = superfluous(listBackups(folder, tenant), keep).map((backup) => backup.file);
  for (const each of removed) fs.rmSync(each, { force: true });
  const count = (/** @type {string} */ kind) => saved.entries.filter((row) => row.kind === kind).length;
  return {
    file,
    sha256: await sha256Of(file),
    bytes: fs.statSync(file).size,
    volumeBytes: saved.bytes,
    files: count('file') + count('database'),
    databases: count('database'),
    skipped: saved.skipped,
    warnings: saved.warnings,
    ms: Math.round(performance.now() - began),
    removed
  };
}

/** @param {string} volume @returns {string} without links in its path */
function realVolume(volume) {
  const stat = fs.statSync(volume, { throwIfNoEntry: false });
  if (!stat) throw new CliError(`There is no volume ${volume}. The tenant has never run.`);
  if (!stat.isDirectory()) throw new CliError(`${volume} is not a folder.`);
  return fs.realpathSync(volume);
}

/** @param {string} folder */
function makeFolder(folder) {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CliError(`The folder ${folder} cannot be made: ${messageOf(error)}.`);
  }
}

/** @param {string} folder @param {string} volume */
function isBelow(folder, volume) {
  const relative = path.relative(volume, fs.realpathSync(folder));
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}

/**
 * Removes what a process that was killed has left. REQUIRES: the lock.
 * @param {string} folder
 * @param {string} tenant
 */
function removeLeftovers(folder, tenant) {
  for (const name of fs.readdirSync(folder)) {
    const rest = name.startsWith(`.${tenant}-`) ? name.slice(tenant.length + 2) : '';
    const isDraft = rest.endsWith('.part') && STAMP.test(rest.slice(0, -'.part'.length));
    if (!isDraft && !/^staging-[0-9a-f]{12}$/.test(rest)) continue;
    fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

/** @param {string} file */
async function sha256Of(file) {
  const hash = crypto.createHash('sha256');
  for await (const chunk of fs.createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest('hex');
}

/** @param {any} error @param {string} tenant @param {string} folder @returns {Error} */
function inWords(error, tenant, folder) {
  const { code = '', message } = error;
  const failed = `The backup of ${tenant} failed`;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CliError(`${failed}: there is no space left in ${folder}. Older backups were kept.`);
  }
  if (error instanceof CliError) return new CliError(`${failed}: ${message}`, error.exitCode);
  if (error instanceof CipherError || error instanceof RangeError || /^E[A-Z]+$/.test(code))
    return new CliError(`${failed}: ${message}`);
  return error;
}

module.exports = { KEEP, MOST_BYTES, listBackups, makeBackup, nameOf, superfluous };
