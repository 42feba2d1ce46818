'use strict';
// Unpacks a backup into a new folder and compares everything with its manifest.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { finished } = require('node:stream/promises');
const { CliError } = require('../base/errors');
const { syncFolder } = require('../../../../nodes/lib/base/replace-file');
const { readArchive } = require('./archive');
const { faultsOf } = require('./database');
const { ABOUT, FORMAT, MANIFEST, MAX_ENTRIES, MAX_TEXT_BYTES, PREFIX } = require('./layout');
const { isInside, isSafeLink } = require('../../../../nodes/lib/base/tar/names');
const { write } = require('./write');

/**
 * @typedef {import('./layout').About} About
 * @typedef {import('./layout').Manifest} Manifest
 * @typedef {import('./layout').Row} Row
 * @typedef {import('../../../../nodes/lib/base/tar/tar').Entry} Entry
 *
 * @typedef {{ about: About, manifest: Manifest, warnings: string[] }} Unpacked
 */

/**
 * @param {object} what
 * @param {string} what.file
 * @param {string} [what.passphrase] '' = none
 * @param {string} [what.identity] file of keys for age
 * @param {string} what.folder new and empty; its caller removes it after a failure
 * @param {number} what.most bytes of all files together
 * @param {boolean} [what.sync] true: every file is on disk at the end
 * @param {AbortSignal} [what.signal] gives up with its reason
 * @returns {Promise<Unpacked>}
 * @throws {CliError} with a sentence that names the damaged file
 */
async function unpack({ file, passphrase, identity, folder, most, sync = true, signal }) {
  const reading = new Reading(file, folder, most, sync);
  await readArchive(file, { passphrase, identity }, (entry, body) =>
    reading.take(entry, signal ? untilAborted(body, signal) : body)
  );
  const { about, manifest } = reading.end();
  const faults = manifest.entries
    .filter(({ kind }) => kind === 'database')
    .map((row) => ({ row, found: faultsOf(path.join(folder, row.path)) }))
    .filter(({ found }) => found !== '');
  const fresh = faults.find(({ row }) => !row.fault);
  if (fresh) {
    throw new CliError(`${file} cannot be used: the database ${fresh.row.path} is damaged: ${fresh.found}.`);
  }
  const warnings = faults.map(({ row }) => `${row.path} was a damaged database already when it was saved.`);
  return { about, manifest, warnings };
}

/** @param {AsyncIterable<Buffer>} body @param {AbortSignal} signal @returns {AsyncGenerator<Buffer, void>} */
async function* untilAborted(body, signal) {
  signal.throwIfAborted();
  for await (const part of body) {
    yield part;
    signal.throwIfAborted();
  }
}

/** What was read of an archive. */
class Reading {
  #file;
  #folder;
  #most;
  #sync;
  /** @type {About | null} */
  #about = null;
  /** @type {Manifest | null} */
  #manifest = null;
  /** In the order of the archive. @type {Map<string, Row>} */
  #rows = new Map();
  #bytes = 0;

  /** @param {string} file @param {string} folder @param {number} most @param {boolean} sync */
  constructor(file, folder, most, sync) {
    this.#file = file;
    this.#folder = folder;
    this.#most = most;
    this.#sync = sync;
  }

  /** @param {string} why @returns {Error} */
  #refused(why) {
    return new CliError(`${this.#file} cannot be used: ${why}.`);
  }

  /** @param {Entry} entry @param {AsyncIterable<Buffer>} body */
  async take(entry, body) {
    const { name } = entry;
    if (this.#manifest) throw this.#refused(`it has the entry ${JSON.stringify(name)} behind its manifest`);
    if (!this.#about) {
      if (name !== ABOUT || entry.type !== 'file') throw this.#refused('it is not the backup of a tenant');
      this.#about = this.#readAbout(await this.#json(entry, body));
    } else if (name === MANIFEST) this.#manifest = /** @type {any} */ (await this.#json(entry, body));
    else await this.#extract(entry, body);
  }

  /** @param {any} about @returns {About} */
  #readAbout(about) {
    if (
      !Number.isInteger(about?.format) ||
      typeof about.tenant !== 'string' ||
      typeof about.created !== 'string'
    ) {
      throw this.#refused('it is not the backup of a tenant');
    }
    if (about.format > FORMAT) throw this.#refused(`a newer version (${about.program}) wrote it`);
    return about;
  }

  /** @param {Entry} entry @param {AsyncIterable<Buffer>} body @returns {Promise<unknown>} */
  async #json({ name, type, size, sha256 }, body) {
    if (type !== 'file' || size > MAX_TEXT_BYTES) throw this.#refused(`its ${name} is not readable`);
    const parts = [];
    for await (const part of body) parts.push(part);
    const bytes = Buffer.concat(parts);
    if (crypto.createHash('sha256').update(bytes).digest('hex') !== sha256) {
      throw this.#refused(`its ${name} is damaged`);
    }
    try {
      return JSON.parse(bytes.toString());
    } catch {
      throw this.#refused(`its ${name} is not JSON`);
    }
  }

  /** @param {Entry} entry @param {AsyncIterable<Buffer>} body */
  async #extract(entry, body) {
    const { type, size, mode, mtimeMs, link, sha256 } = entry;
    const name = entry.name.startsWith(PREFIX) ? entry.name.slice(PREFIX.length) : '';
    if (!isInside(name) || (type === 'link' && !isSafeLink(name, link))) {
      throw this.#refused(`it has the entry ${JSON.stringify(entry.name)}, which no backup has`);
    }
    if (this.#rows.has(name)) throw this.#refused(`it has the entry ${JSON.stringify(entry.name)} twice`);
    if (this.#rows.size === MAX_ENTRIES) throw this.#refused(`it has more than ${MAX_ENTRIES} entries`);
    const parent = path.posix.dirname(name);
    if (parent !== '.' && this.#rows.get(parent)?.kind !== 'folder') {
      throw this.#refused(`the folder of ${name} is not in it`);
    }
    this.#bytes += size;
    if (this.#bytes > this.#most) {
      throw this.#refused(
        `its files have more than ${Math.floor(this.#most / 2 ** 20)} MiB, which is the room here, or the limit of the volume`
      );
    }
    /** @type {import('./layout').Kind} */
    const kind = type;
    const row = { path: name, kind, size, mode, mtimeMs };
    this.#rows.set(
      name,
      type === 'file' ? { ...row, sha256 } : type === 'link' ? { ...row, target: link } : row
    );
    const target = path.join(this.#folder, name);
    if (type === 'folder') fs.mkdirSync(target, { mode: 0o700 });
    if (type === 'file') await this.#write(name, target, body, sha256);
  }

  /** @param {string} name @param {string} target @param {AsyncIterable<Buffer>} body @param {string} sha256 */
  async #write(name, target, body, sha256) {
    const hash = crypto.createHash('sha256');
    const out = fs.createWriteStream(target, { flags: 'wx', mode: 0o600, flush: this.#sync });
    const written = finished(out);
    written.catch(() => {});
    try {
      for await (const part of body) {
        hash.update(part);
        await write(out, part);
      }
      out.end();
      await written;
    } finally {
      out.destroy();
    }
    if (hash.digest('hex') !== sha256) throw this.#refused(`the file ${name} is damaged`);
  }

  /**
   * Compares the manifest with what was unpacked, and sets links, modes and times.
   * @returns {{ about: About, manifest: Manifest }}
   */
  end() {
    const [about, manifest] = [this.#about, this.#manifest];
    if (!about || !manifest) throw this.#refused('it is cut short');
    this.#compare(about, manifest);
    // Links are last, so that no file is written through one; a folder's mode and time come after its content.
    const rows = [...this.#rows.values()].reverse();
    for (const { path: name, kind, target = '' } of rows) {
      if (kind === 'link') fs.symlinkSync(target, path.join(this.#folder, name));
    }
    for (const { path: name, kind, mode, mtimeMs } of rows) {
      const full = path.join(this.#folder, name);
      if (kind === 'link') fs.lutimesSync(full, mtimeMs / 1000, mtimeMs / 1000);
      else {
        if (kind === 'folder' && this.#sync) syncFolder(full);
        fs.chmodSync(full, mode);
        fs.utimesSync(full, mtimeMs / 1000, mtimeMs / 1000);
      }
    }
    if (this.#sync) syncFolder(this.#folder);
    return { about, manifest };
  }

  /** @param {About} about @param {any} manifest */
  #compare(about, manifest) {
    const { format, tenant, created, owner, entries, skipped } = manifest ?? {};
    const isSame = format === about.format && tenant === about.tenant && created === about.created;
    const isOwner =
      Number.isInteger(owner?.uid) && Number.isInteger(owner?.gid) && owner.uid >= 0 && owner.gid >= 0;
    if (!isSame || !isOwner || !Array.isArray(entries) || !Array.isArray(skipped)) {
      throw this.#refused(`its ${MANIFEST} is not complete`);
    }
    const listed = new Set();
    for (const wanted of entries) {
      const name = String(wanted?.path);
      const found = this.#rows.get(name);
      if (!found) throw this.#refused(`the file ${name} is missing`);
      const isDatabase = wanted.kind === 'database' && found.kind === 'file';
      const keys = /** @type {const} */ (['size', 'mode', 'mtimeMs', 'sha256', 'target']);
      const isEqual = keys.every((key) => wanted[key] === found[key]);
      if (listed.has(name) || !isEqual || (!isDatabase && wanted.kind !== found.kind)) {
        throw this.#refused(`${name} differs from its ${MANIFEST}`);
      }
      listed.add(name);
    }
    const extra = [...this.#rows.keys()].find((name) => !listed.has(name));
    if (extra !== undefined) throw this.#refused(`${extra} is not in its ${MANIFEST}`);
  }
}

module.exports = { unpack };
