'use strict';
// Limits the gateway to a part of one core; all other processes are outside the limit.

const { CpuLimit } = require('./cpu-limit');

const NEARLY = 0.9;

class SlowCpu {
  /** The column title of felt(). */
  title = 'throttled % of the time';
  /** Overrides for the stage. @type {Partial<import('../runs/measure').Profile>} */
  profile = {};

  /** @param {number} cores @param {number} periodMs */
  constructor(cores, periodMs) {
    this.cores = cores;
    this.limit = CpuLimit.make(periodMs);
    this.told = `${cores} of a core, quota with a period of ${periodMs} ms (cgroup version ${this.limit.version})`;
  }

  /** Applies the limit, after the system has started at full speed. @param {import('../runs/stage').Stage} stage */
  begin(stage) {
    for (const child of stage.system ? stage.system.children : []) this.limit.take(child.pid);
    this.limit.set(this.cores);
  }

  lift() {
    this.limit.set(0);
  }

  stat() {
    const { periods, throttled, throttledMs } = this.limit.stat();
    return { periods, throttled, throttledMs };
  }

  /** @param {Record<string, number>} short increments of stat() in a period @param {number} ms its length */
  felt({ throttledMs }, ms) {
    return (throttledMs / ms) * 100;
  }

  /** Returns a warning if the quota was not what limited the capacity. @param {{cores: number}} found */
  doubt({ cores }) {
    return cores < this.cores * NEARLY
      ? `Only ${cores.toFixed(3)} of ${this.cores} cores were used, so generator, cloud or sink are the limit. Try a smaller --cpu.`
      : '';
  }

  remove() {
    return this.limit.remove();
  }
}

module.exports = { SlowCpu };
