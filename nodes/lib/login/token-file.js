'use strict';
// The file with the bearer tokens of devices, one per line:
//
//   name:$sha256$<64 hex digits of the token's SHA-256>:device-glob
//
// A token may have several lines. It is long and random (seganet-passwd token), so a plain hash is enough: it cannot be
// found by guessing.

const crypto = require('node:crypto');
const fs = require('node:fs');
const { matchesGlob } = require('../base/glob');

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_LINES = 20000;
const MAX_GLOB_BYTES = 256;
const MAX_TOKEN_CHARACTERS = 512;
const LINE = /^([^:\s]{1,128}):\$sha256\$([0-9a-f]{64}):(.+)$/i;
const OTHERS_MAY_READ = 0o007;

/**
 * @typedef {object} Bearer the token of a request
 * @property {string} name
 * @property {(device: string) => boolean} allows
 */

/**
 * @param {string} text
 * @returns {Map<string, { name: string, globs: string[] }>} by hash
 * @throws {Error} with a sentence
 */
function parseTokens(text) {
  /** @type {Map<string, { name: string, globs: string[] }>} */
  const tokens = new Map();
  const lines = text.split(/\r?\n/);
  if (lines.length > MAX_LINES) throw new Error(`It has more than ${MAX_LINES} lines.`);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, name, hash, glob] = LINE.exec(line.trim()) ?? [];
    // The error does not repeat the line, which may be a pasted token.
    if (!name) throw new Error(`Line ${index + 1} is not like name:$sha256$<64 hex digits>:device-glob.`);
    if (Buffer.byteLength(glob) > MAX_GLOB_BYTES || glob.includes('\0')) {
      throw new Error(`Line ${index + 1}: the device glob exceeds ${MAX_GLOB_BYTES} bytes or contains NUL.`);
    }
    const key = hash.toLowerCase();
    const token = tokens.get(key) ?? { name, globs: [] };
    if (token.name !== name)
      throw new Error(`Line ${index + 1}: the token of "${token.name}" has two names.`);
    token.globs.push(glob);
    tokens.set(key, token);
  }
  return tokens;
}

class TokenFile {
  #path;
  #warn;
  #tokens;
  #stamp;
  #lastWarning;

  /**
   * @param {string} path
   * @param {(sentence: string) => void} warn
   */
  constructor(path, warn) {
    this.#path = path;
    this.#warn = warn;
    this.#tokens = parseTokens('');
    this.#stamp = '';
    this.#lastWarning = '';
  }

  /**
   * Reads the file if it changed. If it cannot be read or is invalid, the previous tokens stay valid.
   * @returns {boolean} false if the file is invalid
   */
  refresh() {
    try {
      const stats = fs.statSync(this.#path);
      const stamp = `${stats.mtimeMs} ${stats.ino} ${stats.size}`;
      if (stamp === this.#stamp) return true;
      if (stats.size > MAX_FILE_BYTES) throw new Error(`It exceeds ${MAX_FILE_BYTES} bytes.`);
      this.#tokens = parseTokens(fs.readFileSync(this.#path, 'utf8'));
      this.#stamp = stamp;
      this.#lastWarning = '';
      if (stats.mode & OTHERS_MAY_READ) {
        this.#tell(`Other users can read the token file ${this.#path}. Run chmod 640 on it.`);
      }
      return true;
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      this.#tell(
        `The token file ${this.#path} cannot be used: ${code ? `it cannot be read (${code}).` : message}`
      );
      return false;
    }
  }

  /** True while the file has no token, so that no request can be allowed. */
  get isEmpty() {
    return this.#tokens.size === 0;
  }

  /** @param {string} sentence reported once */
  #tell(sentence) {
    if (sentence !== this.#lastWarning) this.#warn(sentence);
    this.#lastWarning = sentence;
  }

  /**
   * @param {string | undefined} authorization the header
   * @returns {Bearer | null}
   */
  find(authorization) {
    const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '') ?? [];
    if (!token || token.length > MAX_TOKEN_CHARACTERS) return null;
    // The lookup uses the hash, so its duration reveals nothing about the tokens.
    const found = this.#tokens.get(crypto.createHash('sha256').update(token).digest('hex'));
    if (!found) return null;
    return {
      name: found.name,
      allows: (device) => found.globs.some((glob) => matchesGlob(glob, device))
    };
  }
}

exports.TokenFile = TokenFile;
exports.parseTokens = parseTokens;
