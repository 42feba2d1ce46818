'use strict';
// Limits the memory of processes by a control group, which includes their part of the page cache and of the kernel.
// Supports both cgroup versions; needs root.

const fs = require('node:fs');
const path = require('node:path');
const { findController, removeGroup, removeStale } = require('../cpu-limit');

const MIB = 1 << 20;

let made = 0;

/** @param {string} text lines of a name and a number @returns {Record<string, number>} */
function fields(text) {
  const lines = text.split('\n').filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => line.split(' ')).map(([name, value]) => [name, Number(value)])
  );
}

class MemoryLimit {
  /** @param {1 | 2} version @param {string} folder */
  constructor(version, folder) {
    this.version = version;
    this.folder = folder;
  }

  /**
   * Creates a group with a limit, and without swap.
   * @param {number} mib @param {string} [mountinfo]
   * @throws {Error} with the reason if control groups are unavailable
   */
  static make(mib, mountinfo = fs.readFileSync('/proc/self/mountinfo', 'utf8')) {
    const found = findController(mountinfo, 'memory');
    if (!found) throw new Error('A memory limit needs control groups (cgroup or cgroup2 mounted).');
    const { version, root } = found;
    const limit = new MemoryLimit(version, path.join(root, `seganet-bench-${process.pid}-m${made++}`));
    try {
      removeStale(root);
      if (version === 2) fs.writeFileSync(path.join(root, 'cgroup.subtree_control'), '+memory');
      fs.mkdirSync(limit.folder);
      limit.#write(version === 2 ? 'memory.max' : 'memory.limit_in_bytes', mib * MIB);
      // The files are absent if the kernel does not count swap.
      if (version === 2) limit.#writeIfPresent('memory.swap.max', 0);
      else limit.#writeIfPresent('memory.memsw.limit_in_bytes', mib * MIB);
    } catch (error) {
      if (fs.existsSync(limit.folder)) fs.rmdirSync(limit.folder);
      const { message } = /** @type {Error} */ (error);
      throw new Error(`A memory limit needs root and permission to create a control group (${message}).`, {
        cause: error
      });
    }
    return limit;
  }

  /**
   * A command prefix that starts a program in the group. Memory counts for the group in which it was first used, so a
   * program that moves later is counted only in part.
   * @returns {string[]}
   */
  get within() {
    return ['sh', '-c', 'echo $$ > "$0" && exec "$@"', path.join(this.folder, 'cgroup.procs')];
  }

  /**
   * @returns {{ peakBytes: number, kills: number }} peakBytes: most memory of the group at once, 0 = the kernel does
   *   not report it (cgroup2 before Linux 5.19); kills: processes that the kernel ended for lack of memory
   */
  stat() {
    const isTwo = this.version === 2;
    const peak = path.join(this.folder, isTwo ? 'memory.peak' : 'memory.max_usage_in_bytes');
    const events = path.join(this.folder, isTwo ? 'memory.events' : 'memory.oom_control');
    return {
      peakBytes: fs.existsSync(peak) ? Number(fs.readFileSync(peak, 'utf8')) : 0,
      kills: fields(fs.readFileSync(events, 'utf8')).oom_kill
    };
  }

  /** Removes the group after its processes have ended. */
  remove() {
    return removeGroup(this.folder);
  }

  /** @param {string} file @param {number} value */
  #write(file, value) {
    fs.writeFileSync(path.join(this.folder, file), String(value));
  }

  /** @param {string} file @param {number} value */
  #writeIfPresent(file, value) {
    if (fs.existsSync(path.join(this.folder, file))) this.#write(file, value);
  }
}

module.exports = { MemoryLimit };
