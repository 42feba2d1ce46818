'use strict';
// What a tenant prints: a file that survives the keeper, and one older file, each of limited size.

const fs = require('node:fs');
const path = require('node:path');
const { lastLines } = require('./driver');

/** Size at which the file becomes the older one. */
const MAX_BYTES = 1 << 20;

class Output {
  #file;

  /** @param {string} folder */
  constructor(folder) {
    this.#file = path.join(folder, 'output.log');
  }

  /** @returns {number} a file to write to; the caller closes it */
  open() {
    this.turn();
    return fs.openSync(this.#file, 'a', 0o600);
  }

  /**
   * Limits the size. The tenant has the file open, so it is copied and emptied, not renamed; what is printed between
   * the two is lost.
   */
  turn() {
    try {
      if (fs.statSync(this.#file).size < MAX_BYTES) return;
      const tail = this.#tail(this.#file, MAX_BYTES);
      fs.writeFileSync(`${this.#file}.1`, tail, { mode: 0o600 });
      fs.truncateSync(this.#file);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    }
  }

  /** @param {number} lines @returns {string} */
  last(lines) {
    return lastLines(
      `${this.#tail(`${this.#file}.1`, MAX_BYTES)}\n${this.#tail(this.#file, MAX_BYTES)}`,
      lines
    );
  }

  /** @param {string} file @param {number} bytes @returns {string} '' if there is no file */
  #tail(file, bytes) {
    let fd = -1;
    try {
      fd = fs.openSync(file, 'r');
      const { size } = fs.fstatSync(fd);
      const part = Buffer.alloc(Math.min(size, bytes));
      const got = fs.readSync(fd, part, 0, part.length, size - part.length);
      return part.toString('utf8', 0, got);
    } catch {
      return '';
    } finally {
      if (fd >= 0) fs.closeSync(fd);
    }
  }
}

exports.Output = Output;
