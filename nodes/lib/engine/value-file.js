'use strict';
// Keeps the last values of an engine over a restart: in last-values.gz beside the log. After a crash, values are up to
// five minutes older than what the devices had sent.
//
// The content is HEADER and the rows that native/core/devices/value_rows.h describes.

const { setImmediate: turn } = require('node:timers/promises');
const { KeptFile } = require('../store/kept-file');

const FILE = 'last-values.gz';
const HEADER = Buffer.from('SGV1');
/** Rows that the engine gets at once. */
const CHUNK = 500;
/** Length of a row's length, and bytes that each row has at least: its time. */
const LENGTH = 4;
const TIME = 8;

/** @typedef {Pick<import('../../../native/index.js').Engine, 'values' | 'saveValues' | 'restoreValues' | 'workers'>} Engine */

class ValueFile {
  #engine;
  /** `at` of the values that are in the file, and of those that are being written. */
  #savedAt = 0;
  #savingAt = 0;
  #file;

  /**
   * @param {Engine} engine
   * @param {string} directory created when there are values
   * @param {(sentence: string) => void} warn
   * @param {number} [intervalMs]
   */
  constructor(engine, directory, warn, intervalMs) {
    this.#engine = engine;
    const kept = {
      what: 'last values',
      lost: 'The gateway starts without values; each returns with the next record of its topic.',
      begins: () => void (this.#savedAt = this.#now()),
      restore: (/** @type {Buffer | null} */ content) => this.#restore(content),
      content: () => this.#content(),
      saved: () => void (this.#savedAt = this.#savingAt)
    };
    this.#file = new KeptFile(directory, FILE, kept, warn, intervalMs);
    this.loaded = this.#file.loaded;
  }

  /** Writes what has changed, for the last time. @returns {Promise<void>} */
  stop() {
    return this.#file.stop();
  }

  /** @param {Buffer | null} content @throws {Error} if it is damaged */
  async #restore(content) {
    if (!content) {
      this.#savedAt = 0;
      return;
    }
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

  /** @returns {Promise<Buffer | null>} null = nothing has changed, or the engine was closed meanwhile */
  async #content() {
    const { values, at } = this.#engine.values({ since: this.#savedAt, limit: 1 });
    if (values.length === 0) return null;
    this.#savingAt = at;
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
