'use strict';
// Copies of volumes that a restore or a check works on, beside the volumes:
//   NAME.restore-…, NAME.check-…   what was unpacked; …-start is a copy of it, from which the tenant is started
//   ….lock                         names the process that made them
// A process that is killed leaves them. The next restore, or the next keeper, removes them.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { isLocked, takeLock } = require('../base/lock');
const { variables } = require('../base/processes');

const DRAFT = /^([a-z0-9-]+\.(?:check|restore)-[0-9a-f]{12})(-start)?(\.lock)?$/;
const START = '-start';
/** Variable of a process that was started from a copy: the path of the copy. */
const COPY_VARIABLE = 'SEGANET_TENANT_COPY';

/**
 * Makes a new folder beside a volume.
 * @param {string} volume
 * @param {'check' | 'restore'} why
 * @returns {{ folder: string, start: string, remove: () => void }} start: path for a copy of the folder; remove: both,
 *   as far as they are there
 * @throws {CliError}
 */
function newDraft(volume, why) {
  const folder = `${volume}.${why}-${crypto.randomBytes(6).toString('hex')}`;
  const start = folder + START;
  try {
    fs.mkdirSync(path.dirname(volume), { recursive: true, mode: 0o700 });
    const lock = takeLock(`${folder}.lock`);
    if ('owner' in lock) throw new Error('it is locked');
    const remove = () => {
      for (const each of [folder, start]) fs.rmSync(each, { recursive: true, force: true });
      lock.release();
    };
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      lock.release();
      throw error;
    }
    return { folder, start, remove };
  } catch (error) {
    throw new CliError(`${folder} cannot be made: ${messageOf(error)}.`);
  }
}

/**
 * Removes what processes that were killed have left, and ends tenants that run from it.
 * @param {string} volumes folder of the volumes
 * @returns {string[]} folders that were removed
 */
function removeDrafts(volumes) {
  const names = fs.existsSync(volumes) ? fs.readdirSync(volumes) : [];
  const left = names.filter((name) => {
    const [, base] = DRAFT.exec(name) ?? [];
    return base !== undefined && !isLocked(path.join(volumes, `${base}.lock`));
  });
  if (left.length === 0) return [];
  const running = variables(COPY_VARIABLE);
  const removed = [];
  // The locks are last.
  for (const name of left.sort((a, b) => Number(a.endsWith('.lock')) - Number(b.endsWith('.lock')))) {
    const file = path.join(volumes, name);
    for (const pid of running.get(file) ?? []) kill(pid);
    try {
      fs.rmSync(file, { recursive: true, force: true });
      if (!name.endsWith('.lock')) removed.push(file);
    } catch {
      // A file of another user: it takes space, and harms nothing else.
    }
  }
  return removed;
}

/** @param {number} pid */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

module.exports = { COPY_VARIABLE, newDraft, removeDrafts };
