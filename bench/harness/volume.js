'use strict';
// A small separate file system for the log: a tmpfs, or ext4 on a loop device, whose block device counts every byte
// that reaches it, including the file system's own journal. Needs root.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** @param {string} file @param {string[]} args */
const run = (file, args) =>
  execFileSync(file, args, {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
  });

class Volume {
  /** @param {'tmpfs' | 'ext4'} kind @param {number} sizeMiB */
  constructor(kind, sizeMiB) {
    this.kind = kind;
    this.sizeMiB = sizeMiB;
    this.base = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-volume-'));
    this.folder = path.join(this.base, 'mount');
    /** Name of the loop device, such as loop3. */
    this.device = '';
    this.mounted = false;
  }

  mount() {
    fs.mkdirSync(this.folder);
    try {
      if (this.kind === 'tmpfs') {
        run('mount', ['-t', 'tmpfs', '-o', `size=${this.sizeMiB}m`, 'seganet-bench', this.folder]);
      } else {
        const image = path.join(this.base, 'image');
        fs.closeSync(fs.openSync(image, 'w'));
        fs.truncateSync(image, this.sizeMiB * 1024 * 1024);
        run('mkfs.ext4', ['-q', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image]);
        const loop = run('losetup', ['--find', '--show', image]).trim();
        this.device = path.basename(loop);
        run('mount', ['-o', 'noatime', loop, this.folder]);
      }
      this.mounted = true;
    } catch (error) {
      this.remove();
      throw new Error(
        `Cannot mount a ${this.kind} volume. This needs root (and mkfs.ext4 and losetup for ext4).`,
        {
          cause: error
        }
      );
    }
    return this;
  }

  /** Returns the bytes written to the block device so far, undefined for a tmpfs. @returns {number | undefined} */
  written() {
    if (!this.device) return undefined;
    // Documentation/block/stat: the seventh number is the sectors of 512 bytes written.
    const fields = fs.readFileSync(`/sys/block/${this.device}/stat`, 'utf8').trim().split(/\s+/);
    return Number(fields[6]) * 512;
  }

  /** Flushes the file system's buffers, so that written() is complete. */
  sync() {
    run('sync', ['-f', this.folder]);
  }

  remove() {
    if (this.mounted) run('umount', [this.folder]);
    this.mounted = false;
    if (this.device) run('losetup', ['--detach', `/dev/${this.device}`]);
    this.device = '';
    fs.rmSync(this.base, { recursive: true, force: true });
  }
}

/** @param {string} folder @returns {number} bytes on disk of its files; 0 if it does not exist */
function diskUsage(folder) {
  let sum = 0;
  try {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const name = path.join(folder, entry.name);
      sum += entry.isDirectory() ? diskUsage(name) : fs.statSync(name).blocks * 512;
    }
  } catch {
    // it does not exist yet, or a file was removed meanwhile
  }
  return sum;
}

module.exports = { Volume, diskUsage };
