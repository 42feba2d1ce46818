'use strict';
// A CPU quota for a process group, and the search for the controller.

const fs = require('node:fs');
const { CpuLimit, findController } = require('../../../bench/harness/cpu-limit');
const { readGroup } = require('../../../bench/harness/proc');
const { Child } = require('../../../bench/harness/child');
const { toolsForLimits } = require('../../fixtures/network/control-groups');
const { needs } = require('../../../bench/harness/tools');

const mounts = {
  v1: '33 26 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:14 - cgroup cgroup rw,cpu,cpuacct',
  cpuset: '34 26 0:30 / /sys/fs/cgroup/cpuset rw,nosuid shared:15 - cgroup cgroup rw,cpuset',
  v2: '35 26 0:31 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate',
  unified: '36 26 0:32 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw'
};

describe('the CPU controller', () => {
  test.each([
    ['version 1', [mounts.cpuset, mounts.v1], { version: 1, root: '/sys/fs/cgroup/cpu,cpuacct' }],
    ['version 1 beside an empty version 2', [mounts.unified, mounts.v1], { version: 1 }],
    ['version 2', [mounts.v2, ''], { version: 2, root: '/sys/fs/cgroup' }],
    ['none', ['', '1 2 3 - proc proc rw'], undefined]
  ])('is found: %s', (_, lines, expected) => {
    const found = findController(lines.join('\n'));
    if (expected) expect(found).toMatchObject(expected);
    else expect(found).toBeUndefined();
  });

  test('reports a missing controller in a sentence', () => {
    expect(() => CpuLimit.make(10, '')).toThrow('A CPU limit needs control groups');
    expect(() => CpuLimit.make(10, mounts.v2.replace('/sys/fs/cgroup', '/nowhere'))).toThrow(
      'A CPU limit needs root and permission to create a control group'
    );
  });
});

const limited = needs(...toolsForLimits());
limited.describe('a CPU limit', () => {
  /** @param {number} group @param {number} ms @returns {Promise<number>} cores */
  async function measureCores(group, ms) {
    const before = readGroup(group).cpuSeconds;
    const since = process.hrtime.bigint();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return (readGroup(group).cpuSeconds - before) / (Number(process.hrtime.bigint() - since) / 1e9);
  }

  test('holds for all processes and threads of a group, is reported, and can be removed', async () => {
    const limit = CpuLimit.make(10);
    // Two processes that would take two cores.
    const busy = new Child('sh', ['-c', 'while :; do :; done & while :; do :; done']);
    try {
      limit.set(0.2);
      limit.take(busy.pid);
      const before = limit.stat();
      expect(await measureCores(busy.pid, 1500)).toBeLessThan(0.3);
      const after = limit.stat();
      expect(after.throttled).toBeGreaterThan(before.throttled);
      expect(after.throttledMs).toBeGreaterThan(before.throttledMs);
      limit.set(0);
      await measureCores(busy.pid, 200); // the remainder of the last period
      const free = limit.stat().throttled;
      await measureCores(busy.pid, 300);
      expect(limit.stat().throttled).toBe(free);
    } finally {
      busy.kill('SIGKILL');
      await busy.exited;
      await limit.remove();
    }
    expect(fs.existsSync(limit.folder)).toBe(false);
  });

  test('removes the group of a killed command in the next', async () => {
    const limit = CpuLimit.make(10);
    const stale = limit.folder.replace(/-\d+-\d+$/, '-99999999-0'); // no process can have this number
    fs.mkdirSync(stale);
    const next = CpuLimit.make(10);
    expect(fs.existsSync(stale)).toBe(false);
    expect(fs.existsSync(limit.folder)).toBe(true);
    await Promise.all([limit.remove(), next.remove()]);
  });

  test('refuses less than the kernel can enforce', async () => {
    const limit = CpuLimit.make(10);
    try {
      expect(() => limit.set(0.05)).toThrow('Use a longer period');
    } finally {
      await limit.remove();
    }
  });
});
