'use strict';
// The gateway with a part of one core, everything else outside of the limit.

const { CpuLimit } = require('./cpu-limit');

const NEARLY = 0.9;

class SlowCpu {
  /** What a percentage of felt() means. */
  title = 'throttled % of the time';
  /** Of the stage, beside the ordinary. @type {Partial<import('../runs/measure').Profile>} */
  profile = {};

  /** @param {number} cores @param {number} periodMs */
  constructor(cores, periodMs) {
    this.cores = cores;
    this.limit = CpuLimit.make(periodMs);
    this.told = `${cores} of a core, by a quota for each ${periodMs} ms (cgroup version ${this.limit.version})`;
  }

  /** From here on; starting takes as long as it always does. @param {import('../runs/stage').Stage} stage */
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

  /** @param {Record<string, number>} short what stat() has counted in a time @param {number} ms its length */
  felt({ throttledMs }, ms) {
    return (throttledMs / ms) * 100;
  }

  /** A capacity that is not the quota's would show nothing. @param {{cores: number}} found */
  doubt({ cores }) {
    return cores < this.cores * NEARLY
      ? `Of ${this.cores} cores only ${cores.toFixed(3)} were used: generator, cloud or sink are the limit. Try less --cpu.`
      : '';
  }

  remove() {
    return this.limit.remove();
  }
}

module.exports = { SlowCpu };
