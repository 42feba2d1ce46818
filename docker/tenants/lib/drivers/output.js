'use strict';
// The output of a tenant. The tenant itself writes it to a file, so its own limits apply, and the file survives the
// keeper. There is one older file; the size of each is limited.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { BLOCK } = require('../base/folder-size');
const { lastLines } = require('./driver');

/** Size at which the file is emptied. */
const MAX_BYTES = 4 << 20;
/** The end of it that is kept as the older file. */
const KEPT_BYTES = 256 << 10;
/** Part of each file that is searched for lines. */
const READ_BYTES = 1 << 20;
/** Time between two checks of the files of running tenants. */
const LOOK_MS = 1000;
/**
 * The same, for one minute after an output file was too large. The kernel begins to write a file to the disk after some
 * seconds, or when it fills a part of the memory. A file that is emptied before that delays no write of another tenant.
 */
const QUICK_LOOK_MS = 200;
const QUICK_MS = 60_000;
/**
 * The tenant controls the file, so the keeper trusts nothing about it: it follows no link, and no open waits for the
 * other end of a pipe.
 */
const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
const SAFE = O_NOFOLLOW | O_NONBLOCK;
/** Copies the end of standard input, and empties the file. `head` bounds the copy of a file that still grows. */
const TURN = 'tail -c "$1" | head -c "$1"; : >/proc/self/fd/0';

class Output {
  #file;
  #isTurning = false;

  /** @param {string} folder that the tenant cannot enter */
  constructor(folder) {
    this.#file = path.join(folder, 'output.log');
  }

  /**
   * Makes the file, unless there is one.
   * @param {number} [user] who owns it, and its group; without: this process's
   * @returns {string} its path
   */
  make(user) {
    const stat = fs.lstatSync(this.#file, { throwIfNoEntry: false });
    // Docker creates a folder if the file is missing.
    if (stat && !stat.isFile()) fs.rmSync(this.#file, { recursive: true });
    const fd = fs.openSync(this.#file, O_WRONLY | O_APPEND | O_CREAT | SAFE, 0o600);
    try {
      if (user !== undefined) fs.fchownSync(fd, user, user);
      // The tenant may have removed its own access.
      fs.fchmodSync(fd, 0o600);
    } finally {
      fs.closeSync(fd);
    }
    return this.#file;
  }

  /** @returns {number} a file to write to; the caller closes it */
  open() {
    return fs.openSync(this.make(), O_WRONLY | O_APPEND | SAFE);
  }

  /**
   * Limits the size. The tenant has the file open, so the keeper copies and empties it instead of renaming it; output
   * between the two steps is lost. A separate process does it, because no process can empty a file during a write to
   * it, and one write of a tenant can take minutes.
   * @returns {Promise<boolean>} false: it was small enough, or another call is still running
   */
  async turn() {
    if (this.#isTurning) return false;
    const child = this.#startTurn();
    if (!child) return false;
    this.#isTurning = true;
    try {
      /** @type {Buffer[]} */
      const parts = [];
      child.stdout?.on('data', (part) => parts.push(part));
      await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
      this.#keep(Buffer.concat(parts));
    } finally {
      this.#isTurning = false;
    }
    return true;
  }

  /** @returns {import('node:child_process').ChildProcess | null} null: the file is small enough, or there is none */
  #startTurn() {
    let fd = -1;
    try {
      fd = fs.openSync(this.#file, O_RDONLY | SAFE);
      const stat = fs.fstatSync(fd);
      // A file may take space beyond its end (fallocate), and have holes before it.
      if (!stat.isFile() || Math.max(stat.size, stat.blocks * BLOCK) < MAX_BYTES) return null;
      return spawn('sh', ['-c', TURN, 'sh', String(KEPT_BYTES)], { stdio: [fd, 'pipe', 'ignore'] });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
      throw error;
    } finally {
      if (fd >= 0) fs.closeSync(fd);
    }
  }

  /** @param {Buffer} bytes of the file before it was emptied */
  #keep(bytes) {
    // It overwrites the old content: ext4 writes a file that was emptied first to the disk at once.
    const fd = fs.openSync(`${this.#file}.1`, O_WRONLY | O_CREAT | SAFE, 0o600);
    try {
      fs.writeSync(fd, bytes, 0, bytes.length, 0);
      fs.ftruncateSync(fd, bytes.length);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** @param {number} lines @returns {Promise<string>} */
  async last(lines) {
    const parts = [await tailOf(`${this.#file}.1`), await tailOf(this.#file)];
    return lastLines(parts.join('\n'), lines);
  }

  remove() {
    for (const each of [this.#file, `${this.#file}.1`]) fs.rmSync(each, { recursive: true, force: true });
  }
}

/** @param {string} file @returns {Promise<string>} its end; '' if there is no such file */
async function tailOf(file) {
  let handle;
  try {
    handle = await fs.promises.open(file, O_RDONLY | SAFE);
    const stat = await handle.stat();
    if (!stat.isFile()) return '';
    const part = Buffer.alloc(Math.min(stat.size, READ_BYTES));
    const { bytesRead } = await handle.read(part, 0, part.length, stat.size - part.length);
    return part.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await handle?.close();
  }
}

/** Checks the outputs of running tenants, and limits their size. */
class OutputWatch {
  /** By the tenant's name. @type {Map<string, Output>} */
  #outputs = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #quickUntil = 0;

  /** @param {string} name @param {Output} output */
  add(name, output) {
    // The same object, because it knows whether a call is still running.
    if (this.#outputs.has(name)) return;
    this.#outputs.set(name, output);
    if (!this.#timer) this.#wait();
  }

  /** @param {string} name */
  delete(name) {
    this.#outputs.delete(name);
    if (this.#outputs.size === 0) this.close();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait() {
    const ms = performance.now() < this.#quickUntil ? QUICK_LOOK_MS : LOOK_MS;
    this.#timer = setTimeout(() => this.#look(), ms).unref();
  }

  #look() {
    for (const output of this.#outputs.values()) {
      output.turn().then(
        (isTurned) => isTurned && (this.#quickUntil = performance.now() + QUICK_MS),
        // The disk is full. The next check tries again.
        () => {}
      );
    }
    this.#wait();
  }
}

module.exports = { KEPT_BYTES, MAX_BYTES, Output, OutputWatch };
