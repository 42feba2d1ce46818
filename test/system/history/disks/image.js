'use strict';
// A separate file system: an ext4 image that can lose its power, or a tmpfs that can be full. Needs root.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** @param {string} command @param {string[]} args */
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

const IMAGE_BYTES = 64 << 20;

class Image {
  /** @param {string} folder for the image files and their mount points @param {number} [bytes] */
  constructor(folder, bytes = IMAGE_BYTES) {
    this.folder = folder;
    this.root = path.join(folder, 'disk');
    this.number = 0;
    fs.mkdirSync(this.root);
    const file = this.#file();
    fs.closeSync(fs.openSync(file, 'w'));
    fs.truncateSync(file, bytes);
    // Everything exists before the run: no lazy initialization that writes later.
    run('mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', file);
    this.#mount();
  }

  #file() {
    return path.join(this.folder, `image-${this.number}`);
  }

  #mount() {
    run('mount', '-o', 'loop,noatime', this.#file(), this.root);
  }

  /** Writes that have reached the device, and pending ones. */
  #writes() {
    const device = path.basename(run('findmnt', '-n', '-o', 'SOURCE', this.root));
    const fields = fs.readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/);
    return { done: Number(fields[4]), flushes: Number(fields[15] || 0), inFlight: Number(fields[8]) };
  }

  /**
   * Copies the blocks that have reached the device at one moment, as a power cut would leave them. Data that is only in
   * the cache of the file system is not among them. If the kernel writes during the copy, the copy is not a single
   * moment, and is made again.
   */
  copy() {
    const target = path.join(this.folder, `image-${this.number + 1}`);
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const before = this.#writes();
      run('cp', '--sparse=always', this.#file(), target);
      const after = this.#writes();
      if (before.inFlight === 0 && after.inFlight === 0 && before.done === after.done) return;
    }
    throw new Error('The disk of the power cut is never idle: the copy would mix moments.');
  }

  /** Mounts the copy in place of the original, which must not be in use. */
  cut() {
    run('umount', this.root);
    fs.rmSync(this.#file());
    this.number += 1;
    this.#mount();
  }

  close() {
    run('umount', '-l', this.root);
  }
}

class SmallDisk {
  /** @param {string} folder @param {number} mebibytes */
  constructor(folder, mebibytes) {
    this.root = path.join(folder, 'small');
    this.filler = path.join(this.root, 'filler');
    fs.mkdirSync(this.root);
    run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=700`, 'tmpfs', this.root);
  }

  /** Leaves not one free byte. */
  fill() {
    const fd = fs.openSync(this.filler, 'w');
    const block = Buffer.alloc(65536, 1);
    try {
      for (let size = block.length; size >= 512;) {
        try {
          fs.writeSync(fd, block, 0, size);
        } catch {
          size >>= 1;
        }
      }
    } finally {
      fs.closeSync(fd);
    }
  }

  free() {
    fs.rmSync(this.filler, { force: true });
  }

  close() {
    run('umount', '-l', this.root);
  }
}

module.exports = { Image, SmallDisk };
