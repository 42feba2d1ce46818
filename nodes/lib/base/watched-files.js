'use strict';
// Files that are read again after they were replaced: certificates, keys, passwords.

const fs = require('node:fs');

/** @type {Record<string, string>} */
const REMEDIES = {
  ENOENT: 'There is no such file. Create it, or correct the path',
  EACCES: 'This process may not read it. Correct its owner or mode',
  EPERM: 'This process may not read it. Correct its owner or mode',
  EISDIR: 'It is a folder. Enter the path of the file',
  ENOTDIR: 'There is no such folder. Correct the path'
};

/**
 * @typedef {object} WatchOptions
 * @property {number} [maxBytes] of each file, default no limit
 * @property {string} [code] of the error when a file cannot be read, default FILE
 * @property {string} [meanwhile] what happens until the file can be read; ends the error's sentence, default nothing
 */

/** @template {string} Name */
class WatchedFiles {
  #paths;
  #names;
  #maxBytes;
  #code;
  #meanwhile;
  /** The state of each file when it was last read. @type {Map<Name, string>} */
  #stamps;

  /**
   * @param {Partial<Record<Name, string>>} paths blank ones are ignored
   * @param {Record<Name, string>} names what each file is, for error messages
   * @param {WatchOptions} [options]
   */
  constructor(paths, names, { maxBytes = Infinity, code = 'FILE', meanwhile = '' } = {}) {
    this.#paths = paths;
    this.#names = names;
    this.#maxBytes = maxBytes;
    this.#code = code;
    this.#meanwhile = meanwhile;
    this.roles = /** @type {Name[]} */ (Object.keys(paths)).filter((role) => paths[role]);
    this.#stamps = new Map();
  }

  /**
   * Reads all files.
   * @returns {Partial<Record<Name, Buffer>>}
   * @throws {Error} with the code of the options and a sentence
   */
  read() {
    /** @type {Partial<Record<Name, Buffer>>} */
    const contents = {};
    for (const role of this.roles) contents[role] = this.#readOne(role);
    return contents;
  }

  /** @param {Name} role */
  #readOne(role) {
    const path = /** @type {string} */ (this.#paths[role]);
    let fd;
    try {
      fd = fs.openSync(path, 'r');
      const stats = fs.fstatSync(fd);
      // fstat() describes the open file: one that replaces it during the read has another stamp.
      this.#stamps.set(role, stampOf(stats));
      if (stats.size > this.#maxBytes) throw new Error(`more than ${this.#maxBytes} bytes`);
      return fs.readFileSync(fd);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      const remedy = REMEDIES[code ?? ''] ?? 'Check the file';
      const end = this.#meanwhile ? `${remedy}; ${this.#meanwhile}.` : `${remedy}.`;
      const reason = `The ${this.#names[role]} ${path} cannot be read (${code ?? message}). ${end}`;
      throw Object.assign(new Error(reason, { cause: error }), { code: this.#code });
    } finally {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }

  /**
   * True if a file differs from the one last read. A missing file is not a change: it is being replaced.
   * @returns {Promise<boolean>}
   */
  async haveChanged() {
    const changes = this.roles.map(async (role) => {
      const path = /** @type {string} */ (this.#paths[role]);
      const stamp = await fs.promises.stat(path).then(stampOf, () => '');
      return stamp !== '' && stamp !== this.#stamps.get(role);
    });
    return (await Promise.all(changes)).includes(true);
  }
}

/** @param {fs.Stats} stats */
function stampOf({ mtimeMs, ino, size }) {
  return `${mtimeMs} ${ino} ${size}`;
}

exports.WatchedFiles = WatchedFiles;
