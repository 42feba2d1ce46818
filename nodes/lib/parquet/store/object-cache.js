'use strict';
// Copies of the objects of buckets in a folder of this machine, for programs that read files.
//
//   FOLDER/<bucket: 16 hex digits>/date=2026-11-30/part-mx39np8z-7de8f0e6-<ETag: 16 hex digits>.parquet
//
// The name of a copy holds the ETag of its object. A copy is valid while the object has this ETag and this size. The
// modification time of a file is the time of its last use.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { StoreError } = require('./store-error');

/** Files that this class may remove. Other files in the folder are not its own. */
const COPY =
  /^[0-9a-f]{16}\/date=[^/]+\/(?:part-[0-9a-z]+-[0-9a-f]{8}|_manifest)-[0-9a-f]{16}\.(?:parquet|json)(?:\.new)?$/;
const DRAFT = '.new';
const MIB = 1024 * 1024;

/** @typedef {{ key: string, bytes: number, etag: string }} Listed an object, as ObjectStore.list() returns it */

/** @param {string} text */
const short = (text) => crypto.createHash('sha256').update(text).digest('hex').slice(0, 16);

/** @param {number} bytes rounded up, so that a limit of this size has room for them */
const inMiB = (bytes) => `${Math.ceil(bytes / MIB)} MiB`;

/** REQUIRES: one process uses the folder at a time. */
class ObjectCache {
  #folder;
  #bucket;
  #limit;

  /**
   * @param {string} folder is created if necessary
   * @param {import('./object-store').Bucket} bucket
   * @param {number} limit of all copies in the folder, bytes
   */
  constructor(folder, { endpoint, bucket, prefix }, limit) {
    this.#folder = folder;
    this.#bucket = short(JSON.stringify([endpoint, bucket, prefix]));
    this.#limit = limit;
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /**
   * @param {Listed} object
   * @returns {string} path of its copy, '' = there is none
   */
  find({ key, bytes, etag }) {
    const file = this.#fileOf(key, etag);
    if (fs.statSync(file, { throwIfNoEntry: false })?.size !== bytes) return '';
    const now = new Date();
    fs.utimesSync(file, now, now);
    return file;
  }

  /**
   * Makes room for objects without a copy, and removes those copies of others that were used least recently.
   * @param {Listed[]} objects all that are needed together
   * @returns {number} bytes that have no copy
   * @throws {StoreError} if there can be no room
   */
  reserve(objects) {
    const needed = objects.reduce((sum, { bytes }) => sum + bytes, 0);
    if (needed > this.#limit)
      throw new StoreError(
        'CACHE_LIMIT',
        `The ${objects.length} objects have ${inMiB(needed)}, and the cache may have ${inMiB(this.#limit)}. Ask fewer days with --days, or raise --cache-limit.`
      );
    const found = objects.map((object) => this.find(object));
    const missing = objects.reduce((sum, { bytes }, i) => sum + (found[i] ? 0 : bytes), 0);
    const kept = new Set(found);
    const others = this.#copies().filter(({ file }) => !kept.has(file));
    let total = needed + others.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { file, bytes } of others.sort((a, b) => a.usedAt - b.usedAt)) {
      if (total <= this.#limit && !file.endsWith(DRAFT)) continue;
      fs.rmSync(file, { force: true });
      total -= bytes;
    }
    const { bavail, bsize } = fs.statfsSync(this.#folder);
    if (missing > bavail * bsize)
      throw new StoreError(
        'ENOSPC',
        `${inMiB(missing)} have to be fetched, and the disk of ${this.#folder} has ${inMiB(bavail * bsize)} free. Ask fewer days with --days, or choose another folder with --cache.`
      );
    return missing;
  }

  /**
   * Copies an object. The copy has the name of the ETag that came with its bytes.
   * @param {Pick<import('./object-store').ObjectStore, 'download'>} store
   * @param {string} key
   * @param {(bytes: number) => void} progress
   * @returns {Promise<string>} path
   */
  async copy(store, key, progress) {
    const { etag, chunks } = await store.download(key);
    const file = this.#fileOf(key, etag);
    const draft = `${file}${DRAFT}`;
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.rmSync(draft, { force: true });
    const fd = fs.openSync(draft, 'wx', 0o600);
    try {
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.length;) at += fs.writeSync(fd, chunk, at);
        progress(chunk.length);
      }
      // After a power cut, a file of the right size must not be one of zeros.
      fs.fdatasyncSync(fd);
      fs.renameSync(draft, file);
    } finally {
      fs.closeSync(fd);
      fs.rmSync(draft, { force: true });
    }
    return file;
  }

  /** Removes the copies of this bucket. */
  clear() {
    for (const { file } of this.#copies())
      if (path.relative(this.#folder, file).startsWith(this.#bucket)) fs.rmSync(file, { force: true });
  }

  #copies() {
    const found = [];
    for (const entry of fs.readdirSync(this.#folder, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      if (!entry.isFile() || !COPY.test(path.relative(this.#folder, file))) continue;
      const { size, mtimeMs } = fs.statSync(file);
      found.push({ file, bytes: size, usedAt: mtimeMs });
    }
    return found;
  }

  /** @param {string} key @param {string} etag */
  #fileOf(key, etag) {
    const { dir, name, ext } = path.posix.parse(key);
    return path.join(this.#folder, this.#bucket, dir, `${name}-${short(etag)}${ext}`);
  }
}

exports.ObjectCache = ObjectCache;
