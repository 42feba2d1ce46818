'use strict';
// The limits of a tenant's container without a container: control groups for memory and processor. Needs root.

const fs = require('node:fs');
const path = require('node:path');
const { CpuLimit, removeGroup } = require('../../harness/cpu-limit');

const PERIOD_MS = 100;
const MIB = 1 << 20;

/**
 * Finds where memory is limited, in /proc/self/mountinfo (proc(5)).
 * @param {string} mountinfo
 * @returns {string} folder of the hierarchy of version 1; '' = there is none
 */
function memoryRoot(mountinfo) {
  for (const line of mountinfo.split('\n')) {
    const [front, back = ''] = line.split(' - ');
    const [type, , options = ''] = back.split(' ');
    if (type === 'cgroup' && options.split(',').includes('memory')) return front.split(' ')[4];
  }
  return '';
}

class Limits {
  #cpu;
  /** Group for memory, '' = that of the processor. */
  #folder;

  /** @param {CpuLimit} cpu @param {string} folder */
  constructor(cpu, folder) {
    this.#cpu = cpu;
    this.#folder = folder;
  }

  /**
   * @param {{ memoryMiB: number, cpus: number }} limits
   * @throws {Error} with the reason if control groups are unavailable
   */
  static make({ memoryMiB, cpus }) {
    const cpu = CpuLimit.make(PERIOD_MS);
    cpu.set(cpus);
    if (cpu.version === 2) {
      fs.writeFileSync(path.join(path.dirname(cpu.folder), 'cgroup.subtree_control'), '+memory');
      fs.writeFileSync(path.join(cpu.folder, 'memory.max'), String(memoryMiB * MIB));
      return new Limits(cpu, '');
    }
    const root = memoryRoot(fs.readFileSync('/proc/self/mountinfo', 'utf8'));
    if (!root) throw new Error('A limit of memory needs control groups (cgroup mounted).');
    const folder = path.join(root, path.basename(cpu.folder));
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'memory.limit_in_bytes'), String(memoryMiB * MIB));
    return new Limits(cpu, folder);
  }

  /** Moves a process with all its threads into the groups. @param {number} pid */
  take(pid) {
    for (const folder of [this.#cpu.folder, this.#folder].filter(Boolean))
      fs.writeFileSync(path.join(folder, 'cgroup.procs'), String(pid));
  }

  /** Removes the groups after their processes have ended. */
  async remove() {
    await this.#cpu.remove();
    if (this.#folder) await removeGroup(this.#folder);
  }
}

module.exports = { Limits };
