'use strict';
// The dictionaries of gateways, by hash. A copy of each is in the user folder: a broker keeps only the latest two of a
// gateway, and may still deliver older envelopes after this Node-RED has restarted.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../base/replace-file');

/** Each has at most 32 KiB. */
const MAX_DICTIONARIES = 256;
const NAME = /^[0-9a-f]{16}$/;

class Dictionaries {
  /** The least recently used first; null = only in the folder. @type {Map<string, Buffer | null>} */
  #contents = new Map();
  /** Those that an envelope of this run needed. @type {Set<string>} */
  #used = new Set();
  #folder;
  #max;

  /** @param {string} folder '' = none @param {number} [max] */
  constructor(folder, max = MAX_DICTIONARIES) {
    this.#folder = folder;
    this.#max = max;
    for (const name of this.#files()) this.#contents.set(name, null);
    this.#limit();
  }

  get size() {
    return this.#contents.size;
  }

  /**
   * @param {Buffer} content is copied
   * @returns {{ hash: string, problem: string }} problem: why it is not in the folder, '' = it is, or there is none
   */
  add(content) {
    const hash = hashOf(content);
    const isNew = !this.#contents.has(hash);
    this.#contents.delete(hash);
    this.#contents.set(hash, Buffer.from(content));
    this.#limit();
    return { hash, problem: isNew ? this.#write(hash, content) : '' };
  }

  /** @param {string} hash @returns {Buffer | undefined} undefined = unknown */
  get(hash) {
    if (!this.#contents.has(hash)) return undefined;
    const content = this.#contents.get(hash) ?? this.#read(hash);
    this.#contents.delete(hash);
    this.#used.delete(hash);
    if (!content) return undefined;
    this.#contents.set(hash, content);
    this.#used.add(hash);
    return content;
  }

  /** Removes the folder. */
  remove() {
    if (this.#folder) fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @returns {string[]} names of the files, the oldest first */
  #files() {
    if (!this.#folder) return [];
    try {
      const names = fs.readdirSync(this.#folder).filter((name) => NAME.test(name));
      const ages = names.map((name) => fs.statSync(path.join(this.#folder, name)).mtimeMs);
      return names
        .map((name, i) => ({ name, at: ages[i] }))
        .sort((a, b) => a.at - b.at)
        .map(({ name }) => name);
    } catch {
      return []; // there is no folder yet
    }
  }

  /** @param {string} hash @returns {Buffer | undefined} */
  #read(hash) {
    try {
      const content = fs.readFileSync(path.join(this.#folder, hash));
      return hashOf(content) === hash ? content : undefined;
    } catch {
      return undefined;
    }
  }

  /** @param {string} hash @param {Buffer} content @returns {string} */
  #write(hash, content) {
    if (!this.#folder) return '';
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      replaceFile(path.join(this.#folder, hash), content);
      return '';
    } catch (error) {
      return `The dictionary ${hash} is not kept on disk: ${/** @type {Error} */ (error).message}.`;
    }
  }

  /** Removes those that no envelope needed first: with MQTT 3.1.1, anybody who may publish can send some. */
  #limit() {
    const unused = [...this.#contents.keys()].filter((hash) => !this.#used.has(hash));
    // The latest one is about to be needed.
    const rows = [...unused.slice(0, -1), ...this.#used, ...unused.slice(-1)];
    for (const hash of rows.slice(0, Math.max(0, this.#contents.size - this.#max))) {
      this.#contents.delete(hash);
      this.#used.delete(hash);
      if (this.#folder) fs.rmSync(path.join(this.#folder, hash), { force: true });
    }
  }
}

/** @param {Uint8Array} content @returns {string} 16 hexadecimal digits */
function hashOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

module.exports = { Dictionaries, hashOf };
