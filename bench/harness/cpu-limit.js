'use strict';
// Limits processes to a part of a core, by a control group with a CPU quota. Supports both cgroup versions; needs root.

const fs = require('node:fs');
const path = require('node:path');
const { groupPids } = require('./proc');

let made = 0;

/**
 * Finds a controller in /proc/self/mountinfo (proc(5)). With version 1 it has its own hierarchy, possibly shared with
 * other controllers; otherwise it is in the hierarchy of version 2.
 * @param {string} mountinfo
 * @param {'cpu' | 'memory'} [controller]
 * @returns {{version: 1 | 2, root: string} | undefined}
 */
function findController(mountinfo, controller = 'cpu') {
  /** @type {{version: 1 | 2, root: string} | undefined} */
  let unified;
  for (const line of mountinfo.split('\n')) {
    // 30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
    const [front, back] = line.split(' - ');
    if (!back) continue;
    const [type, , options = ''] = back.split(' ');
    const root = front.split(' ')[4];
    if (type === 'cgroup' && options.split(',').includes(controller)) return { version: 1, root };
    if (type === 'cgroup2') unified = { version: 2, root };
  }
  return unified;
}

/** Removes the groups of killed commands. @param {string} root */
function removeStale(root) {
  for (const name of fs.readdirSync(root)) {
    const [, pid] = name.match(/^seganet-bench-(\d+)-m?\d+$/) ?? [];
    try {
      if (pid && !fs.existsSync(`/proc/${pid}`)) fs.rmdirSync(path.join(root, name));
    } catch {
      // a process still runs in it
    }
  }
}

/** Removes a group after its processes have ended, which the kernel may notice with a delay. @param {string} folder */
async function removeGroup(folder) {
  for (let tries = 0; ; tries += 1) {
    try {
      if (fs.existsSync(folder)) fs.rmdirSync(folder);
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EBUSY' || tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** @typedef {{periods: number, throttled: number, throttledMs: number}} CpuStat */

class CpuLimit {
  /** @param {1 | 2} version @param {string} folder @param {number} periodUs */
  constructor(version, folder, periodUs) {
    this.version = version;
    this.folder = folder;
    this.periodUs = periodUs;
  }

  /**
   * Creates a group without a limit.
   * @param {number} periodMs of the quota @param {string} [mountinfo]
   * @throws {Error} with the reason if control groups are unavailable
   */
  static make(periodMs, mountinfo = fs.readFileSync('/proc/self/mountinfo', 'utf8')) {
    const found = findController(mountinfo);
    if (!found) throw new Error('A CPU limit needs control groups (cgroup or cgroup2 mounted).');
    const folder = path.join(found.root, `seganet-bench-${process.pid}-${made++}`);
    const limit = new CpuLimit(found.version, folder, periodMs * 1000);
    try {
      removeStale(found.root);
      // [Documentation/admin-guide/cgroup-v2.rst] A group has only the controllers that its parent enables.
      if (found.version === 2) fs.writeFileSync(path.join(found.root, 'cgroup.subtree_control'), '+cpu');
      fs.mkdirSync(folder);
      limit.set(0);
    } catch (error) {
      if (fs.existsSync(folder)) fs.rmdirSync(folder);
      const { message } = /** @type {Error} */ (error);
      throw new Error(`A CPU limit needs root and permission to create a control group (${message}).`, {
        cause: error
      });
    }
    return limit;
  }

  /**
   * Tests whether a limit is possible.
   * @param {string} [mountinfo] @throws {Error} like make()
   */
  static probe(mountinfo) {
    fs.rmdirSync(CpuLimit.make(10, mountinfo).folder);
  }

  /** @param {number} cores such as 0.25; 0 = no limit */
  set(cores) {
    const quotaUs = Math.round(cores * this.periodUs);
    if (cores && quotaUs < 1000) {
      throw new Error(
        `${cores} of a core in ${this.periodUs / 1000} ms is below the kernel's minimum of 1 ms. Use a longer period.`
      );
    }
    if (this.version === 2) {
      this.#write('cpu.max', `${quotaUs || 'max'} ${this.periodUs}`);
      return;
    }
    this.#write('cpu.cfs_quota_us', -1); // the old quota may be too large for the new period
    this.#write('cpu.cfs_period_us', this.periodUs);
    if (quotaUs) this.#write('cpu.cfs_quota_us', quotaUs);
  }

  /** Moves every process of a process group, with all its threads, into the control group. @param {number} group */
  take(group) {
    // Repeats until none is outside, because a process may fork meanwhile.
    const inside = new Set();
    for (;;) {
      const outside = groupPids(group).filter((pid) => !inside.has(pid));
      if (outside.length === 0) return;
      for (const pid of outside) {
        inside.add(pid);
        try {
          this.#write('cgroup.procs', pid);
        } catch (error) {
          if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
        }
      }
    }
  }

  /** Returns how often and how long the group was throttled since its creation. @returns {CpuStat} */
  stat() {
    const text = fs.readFileSync(path.join(this.folder, 'cpu.stat'), 'utf8');
    const values = Object.fromEntries(text.split('\n').map((line) => line.split(' ')));
    const throttledMs =
      this.version === 2 ? Number(values.throttled_usec) / 1e3 : Number(values.throttled_time) / 1e6;
    return { periods: Number(values.nr_periods), throttled: Number(values.nr_throttled), throttledMs };
  }

  /** Removes the group after its processes have ended. */
  remove() {
    return removeGroup(this.folder);
  }

  /** @param {string} file @param {string | number} value */
  #write(file, value) {
    fs.writeFileSync(path.join(this.folder, file), String(value));
  }
}

module.exports = { CpuLimit, findController, removeGroup, removeStale };
