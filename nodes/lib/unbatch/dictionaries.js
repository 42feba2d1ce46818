'use strict';
// The dictionaries of gateways, by hash. A copy of each is in the user folder: a broker keeps only the latest two of a
// gateway, and may still deliver older envelopes after this Node-RED has restarted.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../base/replace-file');

/** Files in the folder. Each has at most 32 KiB, so all of them at most 256 MiB. */
const MAX_DICTIONARIES = 8192;
/** Contents in memory; without a folder, there are no others. */
const MAX_MEMORY_BYTES = 8 * 1024 * 1024;
const NAME = /^[0-9a-f]{16}$/;

class Dictionaries {
  /** The least recently used first. @type {Set<string>} */
  #known = new Set();
  /** The contents in memory, the least recently used first. @type {Map<string, Buffer>} */
  #contents = new Map();
  #bytes = 0;
  /** Those that an envelope of this run needed. @type {Set<string>} */
  #used = new Set();
  /** Those that are in memory only, because the folder could not be written. @type {Set<string>} */
  #unwritten = new Set();
  #folder;
  #max;
  #maxBytes;

  /** @param {string} folder '' = none @param {number} [max] @param {number} [maxBytes] in memory */
  constructor(folder, max = MAX_DICTIONARIES, maxBytes = MAX_MEMORY_BYTES) {
    this.#folder = folder;
    this.#max = max;
    this.#maxBytes = maxBytes;
    for (const name of this.#files()) this.#known.add(name);
    this.#limit();
  }

  get size() {
    return this.#known.size;
  }

  /** Number of contents in memory. */
  get loaded() {
    return this.#contents.size;
  }

  /**
   * @param {Buffer} content is copied
   * @returns {{ hash: string, problem: string, evicted: string }} problem: why it is not in the folder, '' = it is, or
   *   there is none. evicted: a sentence about others that were removed, '' = none was
   */
  add(content) {
    const hash = hashOf(content);
    const isNew = !this.#known.delete(hash);
    this.#known.add(hash);
    const problem = isNew || !this.#isWritten(hash) ? this.#write(hash, content) : '';
    this.#load(hash, Buffer.from(content));
    return { hash, problem, evicted: this.#limit() };
  }

  /** Writes those that are in memory only, if the folder can be written again. */
  retry() {
    for (const hash of this.#unwritten) {
      const content = this.#contents.get(hash);
      if (!content) this.#unwritten.delete(hash);
      else if (this.#write(hash, content) !== '') return;
    }
  }

  /** @param {string} hash @returns {Buffer | undefined} undefined = unknown */
  get(hash) {
    if (!this.#known.delete(hash)) return undefined;
    const content = this.#contents.get(hash) ?? this.#read(hash);
    this.#used.delete(hash);
    if (!content) return undefined;
    this.#known.add(hash);
    this.#used.add(hash);
    this.#load(hash, content);
    this.#limit();
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

  /** @param {string} hash @param {Buffer} content the most recently used one from now on */
  #load(hash, content) {
    this.#unload(hash);
    this.#contents.set(hash, content);
    this.#bytes += content.length;
  }

  /** @param {string} hash */
  #unload(hash) {
    this.#bytes -= this.#contents.get(hash)?.length ?? 0;
    this.#contents.delete(hash);
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

  /** @param {string} hash of a known one */
  #isWritten(hash) {
    return !this.#folder || (!this.#unwritten.has(hash) && fs.existsSync(path.join(this.#folder, hash)));
  }

  /** @param {string} hash @param {Buffer} content @returns {string} */
  #write(hash, content) {
    if (!this.#folder) return '';
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      replaceFile(path.join(this.#folder, hash), content);
      this.#unwritten.delete(hash);
      return '';
    } catch (error) {
      this.#unwritten.add(hash);
      return `The dictionary ${hash} is not kept on disk: ${/** @type {Error} */ (error).message}.`;
    }
  }

  /** @returns {string} a sentence if some were removed */
  #limit() {
    let evicted = '';
    while (this.#known.size > this.#max || (!this.#folder && this.#bytes > this.#maxBytes)) {
      evicted = this.#leastNeeded();
      this.#known.delete(evicted);
      this.#used.delete(evicted);
      this.#unwritten.delete(evicted);
      this.#unload(evicted);
      if (this.#folder) fs.rmSync(path.join(this.#folder, evicted), { force: true });
    }
    const isUnwritten = (/** @type {string} */ hash) => Number(this.#unwritten.has(hash));
    const order =
      this.#bytes > this.#maxBytes
        ? [...this.#contents.keys()].sort((a, b) => isUnwritten(a) - isUnwritten(b))
        : [];
    for (const hash of order) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#unload(hash);
    }
    return evicted === ''
      ? ''
      : `The dictionary ${evicted} was removed, because this node keeps at most ${this.#limits()}. Envelopes that need it fail. Let several unbatch nodes share the gateways.`;
  }

  #limits() {
    return this.#folder
      ? `${this.#max} dictionaries`
      : `${this.#maxBytes} bytes of them without a user folder`;
  }

  /** Those that no envelope needed go first: with MQTT 3.1.1, anybody who may publish can send some. */
  #leastNeeded() {
    const latest = [...this.#known].at(-1);
    // The latest one is about to be needed.
    for (const hash of this.#known) if (!this.#used.has(hash) && hash !== latest) return hash;
    for (const hash of this.#known) return hash;
    return '';
  }
}

/** @param {Uint8Array} content @returns {string} 16 hexadecimal digits */
function hashOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

module.exports = { Dictionaries, hashOf };
