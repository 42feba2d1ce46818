'use strict';

const fs = require('node:fs');

/** @typedef {{ca?: Buffer, cert?: Buffer, key?: Buffer, pfx?: Buffer}} Contents */
/** @typedef {keyof Contents} Role */

const ROLES = /** @type {const} */ (['ca', 'cert', 'key', 'pfx']);
const NAMES = {
  ca: "authority's certificate",
  cert: 'certificate of this gateway',
  key: 'private key',
  pfx: 'PFX file'
};
/** @type {Record<string, string>} */
const REMEDIES = {
  ENOENT: 'There is no such file. Create it, or correct the path',
  EACCES: 'This process may not read it. Correct its owner or mode',
  EPERM: 'This process may not read it. Correct its owner or mode',
  EISDIR: 'It is a folder. Enter the path of the file',
  ENOTDIR: 'There is no such folder. Correct the path'
};

/** The files of keys and certificates: read at each connection, so that renewed ones are used without a restart. */
class TlsFiles {
  /** @param {import('../settings/uplink-options').TlsFiles} paths */
  constructor(paths) {
    this.paths = paths;
    this.roles = ROLES.filter((role) => paths[role]);
    /** What the files were when they were read last. @type {Map<Role, string>} */
    this.stamps = new Map();
  }

  /** Throws Error with code TLS_FILE and a sentence. @returns {Contents} */
  read() {
    /** @type {Contents} */
    const contents = {};
    for (const role of this.roles) {
      const path = /** @type {string} */ (this.paths[role]);
      let fd;
      try {
        fd = fs.openSync(path, 'r');
        this.stamps.set(role, stampOf(fs.fstatSync(fd)));
        contents[role] = fs.readFileSync(fd);
      } catch (error) {
        const { code = 'ERROR' } = /** @type {NodeJS.ErrnoException} */ (error);
        const remedy = REMEDIES[code] ?? 'Check the file';
        const reason = `The ${NAMES[role]} ${path} cannot be read (${code}). ${remedy}; records are kept meanwhile.`;
        throw Object.assign(new Error(reason), { code: 'TLS_FILE' });
      } finally {
        if (fd !== undefined) fs.closeSync(fd);
      }
    }
    return contents;
  }

  /** Tells whether one is not what was read last. A file that is away is being replaced. @returns {Promise<boolean>} */
  async haveChanged() {
    for (const role of this.roles) {
      const path = /** @type {string} */ (this.paths[role]);
      const stamp = await fs.promises.stat(path).then(stampOf, () => '');
      if (stamp !== '' && stamp !== this.stamps.get(role)) return true;
    }
    return false;
  }
}

/** @param {fs.Stats} stats */
function stampOf({ mtimeMs, ino, size }) {
  return `${mtimeMs} ${ino} ${size}`;
}

exports.TlsFiles = TlsFiles;
