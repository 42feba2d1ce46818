'use strict';
// Checks a backup by starting the tenant from it without a network, and puts it in the place of the volume.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { syncFolder } = require('../../../../nodes/lib/base/replace-file');
const { newDraft } = require('./drafts');
const { refuseAborted, unlessAborted } = require('./interrupt');
const { unpack } = require('./unpack');

/** Space that stays free on the disk. */
const HEADROOM_BYTES = 64 << 20;
/** For the end of a tenant whose volume is removed at once. */
const HASTE_MS = 1000;
const ASIDE = /\.before-\d{8}T\d{9}Z$/;

/**
 * A tenant that runs without a network, from a copy of its volume.
 * @typedef {object} Offline
 * @property {() => Promise<{ ok: boolean, reason: string }>} health resolves when it is known
 * @property {(mostMs?: number) => Promise<void>} stop mostMs: for an orderly end
 */
/** @typedef {(tenant: any, volume: string) => Promise<Offline>} StartOffline */
/**
 * @typedef {object} What
 * @property {any} tenant entry of the tenants file: name, limits, command …
 * @property {string} file the backup
 * @property {string} volume where the tenant's volume is, or will be
 * @property {string} [passphrase]
 * @property {string} [identity] file of keys for age
 * @property {boolean} [anyTenant] true: the backup may be of a tenant with another name
 * @property {StartOffline | null} startOffline null = the driver cannot
 * @property {AbortSignal} [signal] gives up, as long as nothing was changed; its reason is the error
 *
 * @typedef {object} Checked
 * @property {import('./layout').About} about
 * @property {number} files
 * @property {number} databases
 * @property {number} bytes
 * @property {string[]} warnings
 * @property {'healthy' | 'not started'} start
 * @property {number} ms
 */

/**
 * Checks a backup: unpacks it, compares it with its manifest, checks its databases, and starts the tenant once.
 * Nothing is changed.
 * @param {What} what
 * @returns {Promise<Checked>}
 * @throws {CliError} with the reason why it is refused
 */
async function checkBackup(what) {
  const draft = newDraft(what.volume, 'check');
  try {
    return await prepare(what, draft, false);
  } finally {
    draft.remove();
  }
}

/**
 * Restores a volume. The tenant is stopped for the time of two renames and of its start. If it does not become healthy,
 * the old volume is put back.
 * @param {What & { stop: () => Promise<void>, start: () => Promise<{ ok: boolean, reason: string }>, keepOld?: boolean,
 *   now?: () => Date }} what stop: resolves when no process of the tenant runs; start: starts it on its volume and
 *   resolves when its health is known
 * @returns {Promise<Checked & { old: string }>} old: where the old volume is kept, '' = it was removed, or there was
 *   none
 * @throws {CliError} the volume is then as before
 */
async function restoreBackup(what) {
  const { volume, tenant, now = () => new Date() } = what;
  const stat = fs.lstatSync(volume, { throwIfNoEntry: false });
  if (stat && !stat.isDirectory()) throw new CliError(`${volume} is not a folder. Nothing was changed.`);
  if (stat && fs.statSync(path.dirname(volume)).dev !== stat.dev) {
    throw new CliError(`${volume} is a mount point, which cannot be replaced at once. Nothing was changed.`);
  }
  const draft = newDraft(volume, 'restore');
  const { folder } = draft;
  try {
    const checked = await prepare(what, draft, true);
    await what.stop();
    await refuseAborted(what.signal);
    const aside = stat ? `${volume}.before-${now().toISOString().replace(/[-:.]/g, '')}` : '';
    swap(folder, volume, aside);
    const { ok, reason } = await what.start().catch((error) => ({ ok: false, reason: messageOf(error) }));
    if (!ok) {
      await putBack(what, volume, aside, folder);
      const rest = aside ? 'The old volume is in its place again' : 'There is no volume again';
      throw new CliError(
        `${tenant.name} does not run from the backup: ${reason.replace(/\.$/, '')}. ${rest}.`
      );
    }
    if (aside && !what.keepOld) remove(aside);
    return { ...checked, old: what.keepOld ? aside : '' };
  } finally {
    draft.remove();
  }
}

/**
 * @param {What} what
 * @param {Pick<ReturnType<typeof newDraft>, 'folder' | 'start'>} draft where the volume is unpacked
 * @param {boolean} isKept true: it will be the volume
 * @returns {Promise<Checked>}
 */
async function prepare(
  { tenant, file, volume, passphrase, identity, anyTenant, startOffline, signal },
  { folder, start },
  isKept
) {
  const began = performance.now();
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw new CliError(`${file} is not a file.`);
  const most = roomIn(path.dirname(folder)) / (isKept && startOffline ? 2 : 1);
  const { about, manifest, warnings } = await unpack({
    file,
    passphrase,
    identity,
    folder,
    most,
    sync: isKept,
    signal
  }).catch((error) => {
    throw error === signal?.reason ? error : inWords(error, file, folder);
  });
  await refuseAborted(signal);
  if (about.tenant !== tenant.name && !anyTenant) {
    throw new CliError(
      `${file} is a backup of ${about.tenant}, not of ${tenant.name}. Nothing was changed. With --any-tenant it is used all the same.`
    );
  }
  giveTo(folder, volume, manifest.owner);
  if (startOffline) {
    if (isKept) copyTree(folder, start);
    await refuseAborted(signal);
    await tryStart(startOffline, tenant, isKept ? start : folder, signal);
    if (isKept) remove(start);
  }
  const count = (/** @type {string} */ kind) => manifest.entries.filter((row) => row.kind === kind).length;
  return {
    about,
    files: count('file') + count('database'),
    databases: count('database'),
    bytes: manifest.entries.reduce((all, { size }) => all + size, 0),
    warnings,
    start: startOffline ? 'healthy' : 'not started',
    ms: Math.round(performance.now() - began)
  };
}

/**
 * Starts the tenant without a network and waits for its health. What it writes meanwhile does not stay.
 * @param {StartOffline} startOffline
 * @param {any} tenant
 * @param {string} copy
 * @param {AbortSignal} [signal]
 */
async function tryStart(startOffline, tenant, copy, signal) {
  const offline = await startOffline(tenant, copy);
  try {
    const { ok, reason } = await unlessAborted(offline.health(), signal);
    if (ok) return;
    const why = reason.replace(/\.$/, '');
    throw new CliError(`${tenant.name} does not start from the backup: ${why}. Nothing was changed.`);
  } finally {
    await offline.stop(signal?.aborted ? HASTE_MS : undefined);
  }
}

/** @param {string} from @param {string} to */
function copyTree(from, to) {
  const mode = fs.constants.COPYFILE_FICLONE;
  fs.cpSync(from, to, { recursive: true, mode, preserveTimestamps: true, verbatimSymlinks: true });
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = fs.statSync(from);
  own(to, uid, gid);
}

/** @param {string} folder @returns {number} bytes that may be written there */
function roomIn(folder) {
  const { bavail, bsize } = fs.statfsSync(folder);
  return Math.max(0, bavail * bsize - HEADROOM_BYTES);
}

/**
 * Gives the files to the owner of the volume that they replace, else to the one of the manifest. Only root can.
 * @param {string} folder
 * @param {string} volume
 * @param {{ uid: number, gid: number }} saved
 */
function giveTo(folder, volume, saved) {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = fs.statSync(volume, { throwIfNoEntry: false }) ?? saved;
  own(folder, uid, gid);
}

/**
 * Gives a folder and what is in it to a user; follows no link.
 * @param {string} folder
 * @param {number} uid
 * @param {number} gid
 */
function own(folder, uid, gid) {
  fs.lchownSync(folder, uid, gid);
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const each = path.join(folder, entry.name);
    if (entry.isDirectory()) own(each, uid, gid);
    else fs.lchownSync(each, uid, gid);
  }
}

/** @param {string} folder @param {string} volume @param {string} aside '' = there is no volume */
function swap(folder, volume, aside) {
  const mode = aside ? fs.statSync(volume).mode & 0o777 : 0o700;
  fs.chmodSync(folder, mode);
  if (aside) fs.renameSync(volume, aside);
  try {
    fs.renameSync(folder, volume);
  } catch (error) {
    if (aside) fs.renameSync(aside, volume);
    throw error;
  }
  syncFolder(path.dirname(volume));
}

/**
 * @param {{ stop: () => Promise<void>, start: () => Promise<unknown> }} what
 * @param {string} volume
 * @param {string} aside
 * @param {string} folder
 */
async function putBack(what, volume, aside, folder) {
  await what.stop();
  fs.renameSync(volume, folder);
  if (!aside) return;
  fs.renameSync(aside, volume);
  syncFolder(path.dirname(volume));
  await what.start().catch(() => {});
}

/** @param {string} folder */
function remove(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Puts old volumes back whose restore was cut off (by a power cut, say) between its two renames. Call it when no
 *   restore
 * runs, before the first tenant starts.
 * @param {string} volumes folder of the volumes
 * @param {string[]} names of tenants that are not being restored now
 * @returns {string[]} volumes that are in their place again
 */
function recoverVolumes(volumes, names) {
  const recovered = names.flatMap((name) => {
    const newest = volumesAside(volumes, name).at(-1);
    const volume = path.join(volumes, name);
    if (!newest || fs.existsSync(volume)) return [];
    fs.renameSync(newest, volume);
    return [volume];
  });
  if (recovered.length > 0) syncFolder(volumes);
  return recovered;
}

/** @param {string} volumes folder of all volumes @param {string} name @returns {string[]} old ones, the newest last */
function volumesAside(volumes, name) {
  const found = fs.existsSync(volumes) ? fs.readdirSync(volumes).sort() : [];
  return found
    .filter((each) => ASIDE.test(each) && each.replace(ASIDE, '') === name)
    .map((each) => path.join(volumes, each));
}

/** @param {any} error @param {string} file @param {string} folder @returns {Error} */
function inWords(error, file, folder) {
  const { code = '', message } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CliError(`There is no space left beside ${path.dirname(folder)}. Nothing was changed.`);
  }
  if (error instanceof CliError) return new CliError(`${message} Nothing was changed.`, error.exitCode);
  if (/^E[A-Z]+$/.test(code))
    return new CliError(`${file} cannot be restored: ${message}. Nothing was changed.`);
  return error;
}

module.exports = { checkBackup, recoverVolumes, restoreBackup, volumesAside };
