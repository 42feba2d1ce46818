'use strict';
// Files that are read again when they have been replaced: certificates, keys, passwords.

const fs = require('node:fs');

/** @type {Record<string, string>} */
const REMEDIES = {
  ENOENT: 'There is no such file. Create it, or correct the path',
  EACCES: 'This process may not read it. Correct its owner or mode',
  EPERM: 'This process may not read it. Correct its owner or mode',
  EISDIR: 'It is a folder. Enter the path of the file',
  ENOTDIR: 'There is no such folder. Correct the path'
};

/** @template {string} Name */
class WatchedFiles {
  /**
   * @param {Partial<Record<Name, string>>} paths those that are blank do not exist for us
   * @param {Record<Name, string>} names what they are, for sentences
   * @param {number} maxBytes of each
   */
  constructor(paths, names, maxBytes) {
    this.paths_ = paths;
    this.names_ = names;
    this.maxBytes_ = maxBytes;
    this.roles = /** @type {Name[]} */ (Object.keys(paths)).filter((role) => paths[role]);
    /** What the files were when they were read last. @type {Map<Name, string>} */
    this.stamps_ = new Map();
  }

  /** Throws Error with code FILE and a sentence. @returns {Partial<Record<Name, Buffer>>} */
  read() {
    /** @type {Partial<Record<Name, Buffer>>} */
    const contents = {};
    for (const role of this.roles) contents[role] = this.readOne_(role);
    return contents;
  }

  /** @param {Name} role */
  readOne_(role) {
    const path = /** @type {string} */ (this.paths_[role]);
    let fd;
    try {
      fd = fs.openSync(path, 'r');
      const stats = fs.fstatSync(fd);
      // The stamp is of what is opened here: a file that is replaced meanwhile has another one.
      this.stamps_.set(role, stampOf(stats));
      if (stats.size > this.maxBytes_) throw new Error(`more than ${this.maxBytes_} bytes`);
      return fs.readFileSync(fd);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      const remedy = REMEDIES[code ?? ''] ?? 'Check the file';
      const reason = `The ${this.names_[role]} ${path} cannot be read (${code ?? message}). ${remedy}.`;
      throw Object.assign(new Error(reason, { cause: error }), { code: 'FILE' });
    } finally {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }

  /** Tells whether one is not what was read last. A file that is away is being replaced. @returns {Promise<boolean>} */
  async haveChanged() {
    for (const role of this.roles) {
      const path = /** @type {string} */ (this.paths_[role]);
      const stamp = await fs.promises.stat(path).then(stampOf, () => '');
      if (stamp !== '' && stamp !== this.stamps_.get(role)) return true;
    }
    return false;
  }
}

/** @param {fs.Stats} stats */
function stampOf({ mtimeMs, ino, size }) {
  return `${mtimeMs} ${ino} ${size}`;
}

exports.WatchedFiles = WatchedFiles;
