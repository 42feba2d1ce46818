'use strict';
// A file beside the log that keeps what an engine knows over a restart. It is read in the background when the engine
// starts, replaced in the background at intervals, and once more when the engine stops. Neither waits for the disk on
// the event loop. After a crash, what changed since the last interval is lost.
//
// The file is a gzip (RFC 1952), whose checksum finds damage. A damaged one is renamed, and a sentence reports it.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { promisify } = require('node:util');
const { Complaints } = require('../base/complaints');
const { makeFolder, setAside } = require('./log-folder');

const INTERVAL_MS = 300000;
/** Of all content: more than an engine can keep. */
const MAX_BYTES = 1 << 30;

const gzip = promisify(zlib.gzip);
const gunzip = promisify(zlib.gunzip);

/**
 * @typedef {object} KeptContent
 * @property {string} what 'last values': for sentences
 * @property {string} lost what a damaged file means, a sentence
 * @property {() => void} [begins] called before the file is read
 * @property {(content: Buffer | null) => Promise<void>} restore null = there is no file; throws for damaged content
 * @property {() => Promise<Buffer | null>} content null = nothing has changed, or nothing is to be written
 * @property {() => void} [saved] called when the content is on disk
 */

class KeptFile {
  #directory;
  #name;
  #kept;
  #warn;
  #complaints;
  /** The work under way, which never rejects. */
  #work = Promise.resolve();
  #timer;
  #isStopped = false;

  /**
   * @param {string} directory created when there is something to write
   * @param {string} name of the file
   * @param {KeptContent} kept
   * @param {(sentence: string) => void} warn
   * @param {number} [intervalMs]
   */
  constructor(directory, name, kept, warn, intervalMs = INTERVAL_MS) {
    this.#directory = directory;
    this.#name = name;
    this.#kept = kept;
    this.#warn = warn;
    this.#complaints = new Complaints(warn);
    this.loaded = this.load();
    this.#timer = setInterval(() => void this.save(), intervalMs).unref();
  }

  /** Reads the file, also again. @returns {Promise<void>} */
  load() {
    return this.#next(() => this.#load());
  }

  /** Writes what has changed. @returns {Promise<void>} */
  save() {
    return this.#next(() => this.#save());
  }

  /** Writes what has changed, for the last time. @returns {Promise<void>} */
  stop() {
    clearInterval(this.#timer);
    const last = this.save();
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
    return path.join(this.#directory, this.#name);
  }

  async #load() {
    const { what, begins, restore } = this.#kept;
    begins?.();
    let bytes = null;
    try {
      bytes = await fs.promises.readFile(this.#file);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== 'ENOENT') this.#warn(`The ${what} of the earlier run cannot be read (${message}).`);
    }
    try {
      await restore(bytes && (await gunzip(bytes, { maxOutputLength: MAX_BYTES })));
    } catch {
      this.#setAside();
      await restore(null);
    }
  }

  #setAside() {
    const { what, lost } = this.#kept;
    try {
      const aside = setAside(this.#directory, new Date(), this.#name);
      this.#warn(`The file of ${what} was damaged and is now ${aside}. ${lost}`);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.#warn(`The file of ${what} is damaged, and cannot be renamed (${message}).`);
    }
  }

  async #save() {
    // Not replaceFile(): the event loop must not wait for the disk.
    const temporary = `${this.#file}.new`;
    try {
      const content = await this.#kept.content();
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
      this.#kept.saved?.();
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      await fs.promises.rm(temporary, { force: true }).catch(() => {});
      const { what } = this.#kept;
      this.#complaints.tell(code, `The ${what} were not written (${message}). The gateway goes on.`);
    }
  }
}

module.exports = { KeptFile, INTERVAL_MS };
