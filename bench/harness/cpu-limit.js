'use strict';
// A part of a core for some processes: a control group with a CPU quota. Both versions of cgroups; needs root.

const fs = require('node:fs');
const path = require('node:path');
const { groupPids } = require('./proc');

let made = 0;

/**
 * Where the CPU controller is, of /proc/self/mountinfo (proc(5)): with version 1 it has a hierarchy of its own, maybe with
 * others; else it is in that of version 2.
 * @param {string} mountinfo
 * @returns {{version: 1 | 2, root: string} | undefined}
 */
function findController(mountinfo) {
  /** @type {{version: 1 | 2, root: string} | undefined} */
  let unified;
  for (const line of mountinfo.split('\n')) {
    // 30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
    const [front, back] = line.split(' - ');
    if (!back) continue;
    const [type, , options = ''] = back.split(' ');
    const root = front.split(' ')[4];
    if (type === 'cgroup' && options.split(',').includes('cpu')) return { version: 1, root };
    if (type === 'cgroup2') unified = { version: 2, root };
  }
  return unified;
}

/** Groups of commands that were killed. @param {string} root */
function removeStale(root) {
  for (const name of fs.readdirSync(root)) {
    const [, pid] = name.match(/^seganet-bench-(\d+)-\d+$/) ?? [];
    try {
      if (pid && !fs.existsSync(`/proc/${pid}`)) fs.rmdirSync(path.join(root, name));
    } catch {
      // something still runs in it
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
   * A new group without a limit.
   * @param {number} periodMs of the quota @param {string} [mountinfo]
   * @throws {Error} with a sentence where there is no such thing
   */
  static make(periodMs, mountinfo = fs.readFileSync('/proc/self/mountinfo', 'utf8')) {
    const found = findController(mountinfo);
    if (!found) throw new Error('A CPU limit needs control groups (cgroup or cgroup2 mounted).');
    const folder = path.join(found.root, `seganet-bench-${process.pid}-${made++}`);
    const limit = new CpuLimit(found.version, folder, periodMs * 1000);
    try {
      removeStale(found.root);
      // [Documentation/admin-guide/cgroup-v2.rst] A group has what its parent hands on.
      if (found.version === 2) fs.writeFileSync(path.join(found.root, 'cgroup.subtree_control'), '+cpu');
      fs.mkdirSync(folder);
      limit.set(0);
    } catch (error) {
      if (fs.existsSync(folder)) fs.rmdirSync(folder);
      const { message } = /** @type {Error} */ (error);
      throw new Error(`A CPU limit needs root and a control group that may be made (${message}).`, {
        cause: error
      });
    }
    return limit;
  }

  /**
   * Whether there can be one.
   * @param {string} [mountinfo] @throws {Error} as make() does
   */
  static probe(mountinfo) {
    fs.rmdirSync(CpuLimit.make(10, mountinfo).folder);
  }

  /** @param {number} cores such as 0.25; 0 = no limit */
  set(cores) {
    const quotaUs = Math.round(cores * this.periodUs);
    if (cores && quotaUs < 1000) {
      throw new Error(
        `${cores} of a core in ${this.periodUs / 1000} ms is less than the kernel's least of 1 ms. Take a longer period.`
      );
    }
    if (this.version === 2) {
      this.#write('cpu.max', `${quotaUs || 'max'} ${this.periodUs}`);
      return;
    }
    this.#write('cpu.cfs_quota_us', -1); // else a new period may not fit the old quota
    this.#write('cpu.cfs_period_us', this.periodUs);
    if (quotaUs) this.#write('cpu.cfs_quota_us', quotaUs);
  }

  /** Takes every process of a process group in, with all its threads. @param {number} group */
  take(group) {
    // Until nothing is left outside: one may have been forked meanwhile.
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

  /** How often and how long it had to wait, since it was made. @returns {CpuStat} */
  stat() {
    const text = fs.readFileSync(path.join(this.folder, 'cpu.stat'), 'utf8');
    const values = Object.fromEntries(text.split('\n').map((line) => line.split(' ')));
    const throttledMs =
      this.version === 2 ? Number(values.throttled_usec) / 1e3 : Number(values.throttled_time) / 1e6;
    return { periods: Number(values.nr_periods), throttled: Number(values.nr_throttled), throttledMs };
  }

  /** Its processes have been ended: the kernel may need a moment to forget them. */
  async remove() {
    for (let tries = 0; ; tries += 1) {
      try {
        if (fs.existsSync(this.folder)) fs.rmdirSync(this.folder);
        return;
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EBUSY' || tries === 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** @param {string} file @param {string | number} value */
  #write(file, value) {
    fs.writeFileSync(path.join(this.folder, file), String(value));
  }
}

module.exports = { CpuLimit, findController };
