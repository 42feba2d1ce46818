'use strict';
// Makes the archive of a volume that may be in use.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { DamagedError, LockedError, copyDatabase, faultsOf } = require('./database');
const { CHUNK, copyTo } = require('./copy-file');
const { copyFromGateway } = require('./gateway-copies');
const { ABOUT, FORMAT, MANIFEST, MAX_ENTRIES, MAX_TEXT_BYTES, PREFIX, programVersion } = require('./layout');
const { isSafeLink } = require('../../../../nodes/lib/base/tar/names');
const { END, head, padding, possibleTime } = require('../../../../nodes/lib/base/tar/tar');
const { isGone, openFile, startsAsDatabase, walk } = require('./volume');

/** A file up to this size is read into memory; a larger one is copied first, because its checksum precedes it. */
const MEMORY_BYTES = 4 << 20;
/** How often a file that changes while it is read is read again. */
const TRIES = 3;

/**
 * @typedef {import('./layout').Row} Row
 * @typedef {import('./volume').Found} Found
 *
 * @typedef {object} Source
 * @property {string} tenant
 * @property {object | null} definition
 * @property {string} volume
 * @property {string} staging an empty folder for copies
 * @property {number} most bytes of all files together
 *
 * @typedef {object} Saved figures and notices; filled in while the archive is made
 * @property {Row[]} entries
 * @property {number} bytes of all files
 * @property {import('./volume').Skipped[]} skipped
 * @property {string[]} warnings sentences
 *
 * @typedef {{ size: number, sha256: string, body: Iterable<Buffer>, mtimeMs: number, mode: number }} Content
 */

/** @returns {Saved} */
const nothingSaved = () => ({ entries: [], bytes: 0, skipped: [], warnings: [] });

/**
 * @param {Source} source
 * @param {Saved} saved
 * @param {Date} now
 * @returns {AsyncGenerator<Buffer, void>} a tar archive
 * @throws {CliError}
 */
async function* tarOf(source, saved, now) {
  const { tenant, definition, volume } = source;
  const created = now.toISOString();
  const { node, sqlite = '' } = process.versions;
  const about = { format: FORMAT, tenant, created, program: programVersion(), node, sqlite, definition };
  yield* text(ABOUT, about, now);
  const { uid, gid, dev, ino } = fs.statSync(volume);
  for (const found of walk(volume, saved.skipped, MAX_ENTRIES)) yield* entry(source, saved, found);
  // What is deleted while it is walked looks like files that came and went.
  const end = fs.statSync(volume, { throwIfNoEntry: false });
  if (end?.dev !== dev || end.ino !== ino)
    throw new CliError(`${volume} was replaced or removed while it was saved. Repeat the backup.`);
  const { entries, skipped } = saved;
  yield* text(MANIFEST, { format: FORMAT, tenant, created, owner: { uid, gid }, entries, skipped }, now);
  yield END;
}

/** @param {string} name @param {object} value @param {Date} now */
function* text(name, value, now) {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 1)}\n`);
  if (bytes.length > MAX_TEXT_BYTES)
    throw new CliError(`${name} would be too long. The volume has too many files.`);
  yield head({
    name,
    type: 'file',
    link: '',
    size: bytes.length,
    mode: 0o600,
    mtimeMs: now.getTime(),
    sha256: shaOf([bytes])
  });
  yield bytes;
  yield padding(bytes.length);
}

/** @param {Iterable<Buffer>} chunks */
function shaOf(chunks) {
  const hash = crypto.createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * @param {Source} source
 * @param {Saved} saved
 * @param {Found} found
 * @returns {AsyncGenerator<Buffer, void>}
 */
async function* entry(source, saved, found) {
  const { name, type, stat } = found;
  const common = { name: PREFIX + name, mode: stat.mode & 0o777, mtimeMs: stat.mtimeMs };
  const row = { path: name, mode: common.mode, mtimeMs: common.mtimeMs };
  if (type === 'folder') {
    saved.entries.push({ ...row, kind: 'folder', size: 0 });
    yield head({ ...common, type, size: 0, link: '', sha256: '' });
    return;
  }
  if (type === 'link') {
    const target = targetOf(found);
    if (target === null) saved.skipped.push({ name, why: 'it is a link to a place outside the volume' });
    if (!target) return;
    saved.entries.push({ ...row, kind: 'link', size: 0, target });
    yield head({ ...common, type, size: 0, link: target, sha256: '' });
    return;
  }
  /** @type {number} */
  let fd;
  try {
    fd = openFile(found.path);
  } catch (error) {
    if (isGone(error)) return;
    throw new CliError(`${name} cannot be read: ${messageOf(error)}.`);
  }
  const copy = path.join(source.staging, 'copy');
  try {
    const database = startsAsDatabase(fd) ? await savedDatabase(source, saved, found, fd, copy) : null;
    const content = database ?? savedFile(source, saved, found, fd, copy);
    const { size, sha256, mtimeMs, mode } = content;
    const fault = database?.fault ? { fault: database.fault } : {};
    const kind = database ? 'database' : 'file';
    saved.entries.push({ path: name, kind, size, mode, mtimeMs, sha256, ...fault });
    saved.bytes += size;
    yield head({ name: PREFIX + name, type: 'file', link: '', size, mode, mtimeMs, sha256 });
    yield* content.body;
    yield padding(size);
  } finally {
    fs.closeSync(fd);
    fs.rmSync(copy, { force: true });
  }
}

/** @param {Found} found @returns {string | null} target of a link; null = it leads outside, '' = it is gone */
function targetOf({ name, path: file }) {
  try {
    const target = fs.readlinkSync(file);
    return isSafeLink(name, target) && Buffer.byteLength(target) <= 4096 ? target : null;
  } catch (error) {
    if (isGone(error) || /** @type {NodeJS.ErrnoException} */ (error).code === 'EINVAL') return '';
    throw error;
  }
}

/**
 * @param {Source} source
 * @param {Saved} saved
 * @param {Found} found
 * @param {number} fd
 * @param {string} copy
 * @returns {Promise<(Content & { fault: string }) | null>} null: it is damaged, and saved as a file
 */
async function savedDatabase(source, saved, { name, path: file, root }, fd, copy) {
  // A running gateway locks its databases.
  const { isDone, reason } = await copyFromGateway(root, name, copy, source.most);
  try {
    const most = source.most - saved.bytes;
    if (!isDone) await copyDatabase({ source: file, fd, target: copy, most });
  } catch (error) {
    if (error instanceof DamagedError) {
      saved.warnings.push(`${name} is a damaged database (${error.message}). It was saved as it is.`);
      return null;
    }
    if (!(error instanceof LockedError)) {
      throw error instanceof CliError ? new CliError(`${name}: ${error.message}`) : error;
    }
    throw new CliError(
      reason
        ? `${name} is in use by a gateway that does not send it: ${reason}`
        : `${name} is locked by a process that is not a running gateway in this volume. Stop the tenant (or wake it, if it is paused), and run the backup again.`
    );
  }
  const fault = faultsOf(copy);
  if (fault) saved.warnings.push(`${name} is a damaged database (${fault}). Its copy was saved as it is.`);
  const { mode, mtimeMs } = fs.fstatSync(fd);
  return { ...fromCopy(source, saved, name, copy), mode: mode & 0o777, mtimeMs: Math.round(mtimeMs), fault };
}

/**
 * @param {Source} source
 * @param {Saved} saved
 * @param {Found} found
 * @param {number} fd
 * @param {string} copy
 * @returns {Content}
 */
function savedFile(source, saved, { name }, fd, copy) {
  for (let tries = 1; ; tries++) {
    const before = fs.fstatSync(fd);
    checkRoom(source, saved, name, before.size);
    const content = before.size <= MEMORY_BYTES ? inMemory(fd, before.size) : null;
    if (!content) copyTo(fd, before.size, copy);
    const after = fs.fstatSync(fd);
    const isSame = after.mtimeMs === before.mtimeMs && after.size === before.size;
    if (!isSame && tries < TRIES) continue;
    if (!isSame) saved.warnings.push(`${name} changed while it was read.`);
    const { mode } = before;
    const mtimeMs = possibleTime(before.mtimeMs);
    const whole = content
      ? { size: content.length, sha256: shaOf([content]), body: [content] }
      : fromCopy(source, saved, name, copy);
    return { ...whole, mode: mode & 0o777, mtimeMs };
  }
}

/** @param {Source} source @param {Saved} saved @param {string} name @param {number} size */
function checkRoom(source, saved, name, size) {
  if (saved.bytes + size <= source.most) return;
  throw new CliError(
    `With ${name} the volume has more than ${Math.floor(source.most / 2 ** 20)} MiB, the limit of a backup. Make room in it, or raise the limit with --most-mib.`
  );
}

/** @param {Source} source @param {Saved} saved @param {string} name @param {string} copy */
function fromCopy(source, saved, name, copy) {
  const { size } = fs.statSync(copy);
  checkRoom(source, saved, name, size);
  return { size, sha256: shaOf(chunksOf(copy)), body: chunksOf(copy) };
}

/** @param {number} fd @param {number} size @returns {Buffer} fewer bytes if the file became shorter */
function inMemory(fd, size) {
  const bytes = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const read = fs.readSync(fd, bytes, at, size - at, at);
    if (read === 0) break;
    at += read;
  }
  return bytes.subarray(0, at);
}

/** @param {string} file @returns {Generator<Buffer, void>} */
function* chunksOf(file) {
  const fd = fs.openSync(file, 'r');
  try {
    for (;;) {
      const chunk = Buffer.alloc(CHUNK);
      const read = fs.readSync(fd, chunk, 0, CHUNK, null);
      if (read === 0) return;
      yield chunk.subarray(0, read);
    }
  } finally {
    fs.closeSync(fd);
  }
}

module.exports = { nothingSaved, tarOf };
