'use strict';
// The files of an archive in a folder of this machine. A file that put() has written survives a power cut.

const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../../base/replace-file');
const { makeFolder } = require('../../store/log-folder');
const { DatabaseSync } = require('../../store/sqlite');
const { StoreError } = require('./store-error');

const LOCK = '_lock.db';
/** Read by programs of the gateway's user only. */
const MODE = 0o600;

/** @typedef {import('../files/parquet-file').Readable} Readable */

/**
 * Keys are paths below the folder, with slashes. REQUIRES (all but open): open() has succeeded.
 */
class FolderStore {
  /** @type {import('node:sqlite').DatabaseSync | null} */
  #lock = null;

  /** @param {string} folder absolute */
  constructor(folder) {
    this.folder = folder;
  }

  /**
   * Creates the folder if necessary, and takes its lock, which the system releases with the process.
   * @throws {StoreError} another uplink has it @throws {Error} of the system
   */
  async open() {
    if (this.#lock) return;
    makeFolder(this.folder);
    const lock = new DatabaseSync(path.join(this.folder, LOCK), { timeout: 0 });
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      lock.close();
      if (/** @type {any} */ (error).errcode !== 5) throw error;
      throw new StoreError(
        'IN_USE',
        `The folder ${this.folder} is in use by another parquet uplink node, of this or another gateway. Choose another folder.`
      );
    }
    this.#lock = lock;
  }

  close() {
    this.#lock?.close();
    this.#lock = null;
  }

  /** @returns {Promise<{ key: string, bytes: number }[]>} files in the folders of days */
  async list() {
    const found = [];
    for (const day of fs.readdirSync(this.folder)) {
      // It may be a link to a folder on another disk.
      const isDay = day.startsWith('date=') && fs.statSync(this.#file(day), { throwIfNoEntry: false });
      if (!isDay || !isDay.isDirectory()) continue;
      for (const file of fs.readdirSync(this.#file(day), { withFileTypes: true })) {
        if (!file.isFile()) continue;
        const key = `${day}/${file.name}`;
        found.push({ key, bytes: fs.statSync(this.#file(key)).size });
      }
    }
    return found;
  }

  /** @param {string} key @returns {Promise<Buffer>} */
  async get(key) {
    return fs.readFileSync(this.#file(key));
  }

  /** @param {string} key @returns {Promise<Readable>} */
  async read(key) {
    const file = this.#file(key);
    const { size } = fs.statSync(file);
    return { byteLength: size, slice: async (start, end = size) => readPart(file, start, end) };
  }

  /**
   * Writes a file as a whole: after it, the file is on disk.
   * @param {string} key
   * @param {Uint8Array | string} content
   */
  async put(key, content) {
    const file = this.#file(key);
    makeFolder(path.dirname(file));
    replaceFile(
      file,
      typeof content === 'string' ? content : Buffer.from(content.buffer, content.byteOffset, content.length),
      MODE
    );
  }

  /** @param {string} key */
  async remove(key) {
    fs.rmSync(this.#file(key), { force: true });
  }

  /** @param {string} key */
  #file(key) {
    return path.join(this.folder, key);
  }
}

/** @param {string} file @param {number} start @param {number} end @returns {ArrayBuffer} */
function readPart(file, start, end) {
  const bytes = new Uint8Array(Math.max(0, end - start));
  const fd = fs.openSync(file, 'r');
  try {
    for (let at = 0; at < bytes.length;) {
      const count = fs.readSync(fd, bytes, at, bytes.length - at, start + at);
      if (count === 0) throw new Error(`The file ${file} ends early.`);
      at += count;
    }
  } finally {
    fs.closeSync(fd);
  }
  return bytes.buffer;
}

exports.FolderStore = FolderStore;
