'use strict';
// The file of a backup: a tar archive (POSIX pax) in gzip.
//
//   seganet-backup.json   { format, version, created, home, logs: [{ engine, directory, name }] }; the first
//   home/…                files of the gateway's folder
//   log/<name>/…          the databases of each log; <name> is mostly the id of its engine
//   SHA256SUMS            a line for each entry before it, as sha256sum writes and checks them; the last entry

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { finished, pipeline } = require('node:stream/promises');
const zlib = require('node:zlib');
const { isInside } = require('../../nodes/lib/base/tar/names');
const { END, MAX_NAME_BYTES, head, padding, readTar } = require('../../nodes/lib/base/tar/tar');

const FORMAT = 1;
const MANIFEST = 'seganet-backup.json';
const SUMS = 'SHA256SUMS';
/** Largest manifest and list of checksums. */
const MAX_TEXT_BYTES = 16 << 20;
/** Most files in a backup. With names of mean length, their checksums have MAX_TEXT_BYTES. */
const MOST_FILES = 100_000;

/**
 * @typedef {object} Manifest
 * @property {number} format
 * @property {string} version of the gateway that wrote it
 * @property {string} created ISO 8601
 * @property {string} home
 * @property {{ engine: string, directory: string, name?: string }[]} logs name: of the folder in log/; if missing, the
 *   engine's id
 */

/** @typedef {import('../../nodes/lib/base/tar/tar').Entry} Entry */

/** True for the name of a file of the gateway or of a log. @param {string} name */
const isExpected = (name) =>
  /^(home|log)\//.test(name) &&
  isInside(name) &&
  !name.includes('\\') &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES;

/** Writes an archive. Its caller removes the file after a failure. */
class ArchiveWriter {
  #gzip;
  #done;
  /** @type {Map<string, string>} checksum by name */
  #sums;

  /** @param {string | number} file must not exist; or a descriptor, which is closed at the end */
  constructor(file) {
    // Level 1: a small board spends its time otherwise on the compression, not on the card.
    this.#gzip = zlib.createGzip({ level: 1 });
    const to = typeof file === 'number' ? { path: '', fd: file } : { path: file, fd: undefined };
    const out = fs.createWriteStream(to.path, { fd: to.fd, flags: 'wx', mode: 0o600, flush: true });
    this.#done = pipeline(this.#gzip, out);
    // Reported by the next write.
    this.#done.catch(() => {});
    this.#sums = new Map();
  }

  /**
   * @param {string} name
   * @param {Buffer | string} content
   */
  addText(name, content) {
    const bytes = Buffer.from(content);
    return this.add({ name, size: bytes.length, mode: 0o600, mtimeMs: Date.now() }, [bytes]);
  }

  /**
   * @param {Pick<Entry, 'name' | 'size' | 'mode' | 'mtimeMs'>} entry
   * @param {AsyncIterable<Buffer> | Iterable<Buffer>} body exactly `entry.size` bytes
   * @throws {Error} if the archive has an entry of that name, or may not have one: unpack() would refuse it
   */
  async add(entry, body) {
    if (![MANIFEST, SUMS].includes(entry.name) && !isExpected(entry.name))
      throw new Error(`no backup can have the name ${JSON.stringify(entry.name)}. Rename that file.`);
    if (this.#sums.has(entry.name)) throw new Error(`it has an entry with the name ${entry.name} already`);
    if (this.#sums.size > MOST_FILES) throw new Error(`it would have more than ${MOST_FILES} files`);
    const hash = crypto.createHash('sha256');
    await this.#write(head(entry));
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > entry.size) break;
      hash.update(chunk);
      await this.#write(chunk);
    }
    if (bytes !== entry.size)
      throw new Error(`${entry.name} changed while it was read. Run the backup again.`);
    await this.#write(padding(entry.size));
    this.#sums.set(entry.name, hash.digest('hex'));
  }

  /** Completes the file and syncs it. */
  async end() {
    const lines = Array.from(this.#sums, ([name, sum]) => `${sum}  ${name}\n`);
    await this.addText(SUMS, lines.join(''));
    await this.#write(END);
    this.#gzip.end();
    await this.#done;
  }

  /** Ends the writing early. */
  async abort() {
    this.#gzip.destroy();
    await this.#done.catch(() => {});
  }

  /** @param {Buffer} bytes */
  async #write(bytes) {
    if (bytes.length === 0) return;
    if (this.#gzip.destroyed) await this.#done;
    if (!this.#gzip.write(bytes)) await Promise.race([once(this.#gzip, 'drain'), this.#done]);
  }
}

/**
 * Unpacks an archive into an empty folder and checks everything in it.
 * @param {string | number} file or its descriptor, which is closed
 * @param {string} folder exists; the caller removes it after a failure
 * @param {number} [most] bytes of all files together
 * @returns {Promise<Manifest>}
 * @throws {Error} with the rest of a sentence about the file, or with the code of a system error
 */
async function unpack(file, folder, most = Infinity) {
  /** @type {Map<string, string>} checksum by name */
  const found = new Map();
  /** @type {Manifest | null} */
  let manifest = null;
  /** @type {string | null} */
  let sums = null;
  let left = most;
  const isOpen = typeof file === 'number';
  const input = fs.createReadStream(isOpen ? '' : file, isOpen ? { fd: file } : {});
  const gunzip = zlib.createGunzip();
  const read = pipeline(input, gunzip);
  read.catch(() => {});
  const onEntry = async (/** @type {Entry} */ entry, /** @type {AsyncIterable<Buffer>} */ body) => {
    const { name, type, size } = entry;
    if (type !== 'file') throw new Error(`${name} is not a regular file`);
    if (sums !== null) throw new Error(`it has the entry ${name} behind its checksums`);
    if (name === SUMS) {
      sums = await textOf(size, body);
      return;
    }
    if (found.size > MOST_FILES) throw new Error(`it has more than ${MOST_FILES} files`);
    left -= size;
    if (left < 0) throw new TooLarge(name);
    if (found.has(name)) throw new Error(`it has the entry ${name} twice`);
    if (!manifest && name !== MANIFEST) throw new Error('it is not a backup of a gateway');
    if (name === MANIFEST) {
      const text = await textOf(size, body);
      found.set(name, crypto.createHash('sha256').update(text).digest('hex'));
      manifest = readManifest(text);
    } else found.set(name, await extract(entry, body, folder));
  };
  try {
    await readTar(gunzip, onEntry);
    await read;
  } finally {
    input.destroy();
    gunzip.destroy();
  }
  if (!manifest || sums === null) throw new Error('it is cut short');
  compare(sums, found);
  return manifest;
}

/** The files of an archive have more bytes than allowed. */
class TooLarge extends Error {}

/** @param {number} size @param {AsyncIterable<Buffer>} body @returns {Promise<string>} */
async function textOf(size, body) {
  if (size > MAX_TEXT_BYTES) throw new Error('it is not a backup of a gateway');
  const parts = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** @param {string} text @returns {Manifest} */
function readManifest(text) {
  /** @type {any} */
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    // Answered below.
  }
  if (typeof read?.format !== 'number' || !Array.isArray(read.logs))
    throw new Error('it is not a backup of a gateway');
  if (read.format > FORMAT) {
    throw new Error(`a newer gateway (${read.version}) wrote it. Restore it with that version`);
  }
  return read;
}

/**
 * @param {Entry} entry
 * @param {AsyncIterable<Buffer>} body
 * @param {string} folder
 * @returns {Promise<string>} its checksum
 */
async function extract({ name, mode, mtimeMs }, body, folder) {
  if (!isExpected(name))
    throw new Error(`it has an entry with the name ${JSON.stringify(name)}, which no backup has`);
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const hash = crypto.createHash('sha256');
  const out = fs.createWriteStream(file, { flags: 'wx', mode, flush: true });
  const written = finished(out);
  written.catch(() => {});
  for await (const part of body) {
    hash.update(part);
    if (!out.write(part)) await Promise.race([once(out, 'drain'), written]);
  }
  out.end();
  await written;
  fs.utimesSync(file, mtimeMs / 1000, mtimeMs / 1000);
  return hash.digest('hex');
}

/** @param {string} sums @param {Map<string, string>} found */
function compare(sums, found) {
  const wanted = new Map(
    sums
      .split('\n')
      .filter(Boolean)
      .map((line) => /** @type {[string, string]} */ ([line.slice(66), line.slice(0, 64)]))
  );
  for (const [name, sum] of found) {
    if (wanted.get(name) !== sum) throw new Error(`the checksum of ${name} is wrong`);
  }
  const missing = [...wanted.keys()].find((name) => !found.has(name));
  if (missing !== undefined) throw new Error(`the entry ${missing} is missing`);
}

exports.ArchiveWriter = ArchiveWriter;
exports.FORMAT = FORMAT;
exports.MANIFEST = MANIFEST;
exports.TooLarge = TooLarge;
exports.unpack = unpack;
