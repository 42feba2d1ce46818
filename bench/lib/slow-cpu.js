'use strict';
// The gateway with a part of one core, everything else outside of the limit.

const { CpuLimit } = require('./cpu-limit');

class SlowCpu {
  /** @param {number} cores @param {number} periodMs */
  constructor(cores, periodMs) {
    this.cores = cores;
    this.limit = CpuLimit.make(periodMs);
    this.told = `${cores} of a core, by a quota for each ${periodMs} ms (cgroup version ${this.limit.version})`;
  }

  /** From here on; starting takes as long as it always does. @param {import('./stage').Stage} stage */
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

  remove() {
    return this.limit.remove();
  }
}

module.exports = { SlowCpu };
