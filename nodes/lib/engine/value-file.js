'use strict';
// Keeps the last values of an engine over a restart: in last-values.gz beside the log. It is written every five minutes
// if something has changed, and when the engine stops, and read in the background when the engine starts. After a
// crash, values are up to five minutes older than what the devices had sent.
//
// The file is a gzip (RFC 1952), whose checksum finds damage, of HEADER and the rows that
// native/core/devices/value_rows.h describes.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { promisify } = require('node:util');
const { setImmediate: turn } = require('node:timers/promises');
const { Complaints } = require('../base/complaints');
const { makeFolder, setAside } = require('../store/log-folder');

const FILE = 'last-values.gz';
const HEADER = Buffer.from('SGV1');
const INTERVAL_MS = 300000;
/** Of all rows: more than an engine can keep. */
const MAX_BYTES = 1 << 30;
/** Rows that the engine gets at once. */
const CHUNK = 500;
/** Length of a row's length, and bytes that each row has at least: its time. */
const LENGTH = 4;
const TIME = 8;

const gzip = promisify(zlib.gzip);
const gunzip = promisify(zlib.gunzip);

/** @typedef {Pick<import('../../../native/index.js').Engine, 'values' | 'saveValues' | 'restoreValues' | 'workers'>} Engine */

class ValueFile {
  #engine;
  #directory;
  #warn;
  #complaints;
  /** `at` of the values that are in the file. */
  #savedAt = 0;
  /** The work under way, which never rejects. */
  #work = Promise.resolve();
  #timer;
  #isStopped = false;

  /**
   * @param {Engine} engine
   * @param {string} directory created when there are values
   * @param {(sentence: string) => void} warn
   * @param {number} [intervalMs]
   */
  constructor(engine, directory, warn, intervalMs = INTERVAL_MS) {
    this.#engine = engine;
    this.#directory = directory;
    this.#warn = warn;
    this.#complaints = new Complaints(warn);
    this.loaded = this.#next(() => this.#load());
    this.#timer = setInterval(() => void this.#next(() => this.#save()), intervalMs).unref();
  }

  /** Writes what has changed, for the last time. @returns {Promise<void>} */
  stop() {
    clearInterval(this.#timer);
    const last = this.#next(() => this.#save());
    void last.then(() => (this.#isStopped = true));
    return last;
  }

  /** @param {() => Promise<void>} work @returns {Promise<void>} */
  #next(work) {
    this.#work = this.#work.then(async () => {
      if (!this.#isStopped) await work();
    });
    return this.#work;
  }

  get #file() {
    return path.join(this.#directory, FILE);
  }

  async #load() {
    this.#savedAt = this.#now();
    let bytes;
    try {
      bytes = await fs.promises.readFile(this.#file);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code === 'ENOENT') this.#savedAt = 0;
      else this.#warn(`The last values of the earlier run cannot be read (${message}).`);
      return;
    }
    try {
      await this.#restore(bytes);
    } catch {
      this.#setAside();
    }
  }

  /** @param {Buffer} bytes of the file @throws {Error} if they are damaged */
  async #restore(bytes) {
    const content = await gunzip(bytes, { maxOutputLength: MAX_BYTES });
    if (!content.subarray(0, HEADER.length).equals(HEADER)) throw new Error('not the header');
    const rows = rowsOf(content.subarray(HEADER.length));
    // The latest first: if there is no room for all, the oldest are left out.
    rows.sort((a, b) => b.renewedMs - a.renewedMs);
    for (let at = 0; at < rows.length; at += CHUNK) {
      const chunk = rows.slice(at, at + CHUNK);
      const restored = this.#engine.restoreValues(Buffer.concat(chunk.map(({ row }) => row)));
      if (restored < chunk.length) break;
      await turn();
    }
  }

  #setAside() {
    try {
      const aside = setAside(this.#directory, new Date(), FILE);
      this.#warn(
        `The file of last values was damaged and is now ${aside}. The gateway starts without values; each returns with the next record of its topic.`
      );
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.#warn(`The file of last values is damaged, and cannot be renamed (${message}).`);
    }
  }

  async #save() {
    const { values, at } = this.#engine.values({ since: this.#savedAt, limit: 1 });
    if (values.length === 0) return;
    // Not replaceFile(): the event loop must not wait for the disk.
    const temporary = `${this.#file}.new`;
    try {
      const content = await this.#content();
      if (!content) return;
      const packed = await gzip(content, { level: 1 });
      makeFolder(this.#directory);
      const file = await fs.promises.open(temporary, 'w', 0o600);
      try {
        await file.writeFile(packed);
        await file.sync();
      } finally {
        await file.close();
      }
      await fs.promises.rename(temporary, this.#file);
      this.#savedAt = at;
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      await fs.promises.rm(temporary, { force: true }).catch(() => {});
      this.#complaints.tell(code, `The last values were not written (${message}). The gateway goes on.`);
    }
  }

  /** @returns {Promise<Buffer | null>} null = the engine was closed meanwhile */
  async #content() {
    /** @type {Buffer[]} */
    const parts = [HEADER];
    for (let worker = 0; worker < this.#engine.workers().length; worker++) {
      let after = null;
      do {
        const page = this.#engine.saveValues(worker, after);
        if (!page) return null;
        parts.push(page.rows);
        after = page.next;
        await turn();
      } while (after);
    }
    return Buffer.concat(parts);
  }

  /** Returns the time of the engine's pages. */
  #now() {
    return this.#engine.values({ since: Number.MAX_SAFE_INTEGER, limit: 1 }).at;
  }
}

/**
 * @param {Buffer} content
 * @returns {{ row: Buffer, renewedMs: number }[]} row: with its length in front
 * @throws {Error} if it does not consist of rows
 */
function rowsOf(content) {
  const rows = [];
  for (let at = 0; at < content.length;) {
    const end = at + LENGTH + (at + LENGTH <= content.length ? content.readUInt32LE(at) : Infinity);
    if (end > content.length || end < at + LENGTH + TIME) throw new Error('not a row');
    rows.push({ row: content.subarray(at, end), renewedMs: Number(content.readBigInt64LE(at + LENGTH)) });
    at = end;
  }
  return rows;
}

exports.ValueFile = ValueFile;
exports.FILE = FILE;
