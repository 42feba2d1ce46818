'use strict';
// The kernel's capabilities, from trials or else from its files, and the uplink's view of its interface.

const os = require('node:os');
const {
  PARTS,
  PART_NAMES,
  readKernelFiles,
  readTrial,
  unknownCapabilities
} = require('../../../nodes/lib/network/qdisc/kernel-capabilities');
const { checkUplink, interfaceWith } = require('../../../nodes/lib/network/qdisc');
const { needs } = require('../../../bench/harness/tools');

describe('a capability trial', () => {
  test.each([
    [0, '', 'yes'],
    [2, 'Error: Specified qdisc kind is unknown.', 'no'],
    [2, 'Error: TC classifier not found.\nWe have an error talking to the kernel', 'no'],
    [1, 'No ELF library support compiled in.', 'no'],
    [1, 'Unable to load program', 'no'],
    [1, 'mkdir /sys/fs/bpf/tc/ failed: Permission denied\nUnable to load program', 'unknown'],
    [2, 'RTNETLINK answers: Operation not permitted', 'unknown'],
    [2, 'RTNETLINK answers: Cannot allocate memory', 'unknown'],
    [127, '', 'unknown']
  ])('reads an end with %d and %j as %s', (code, stderr, has) =>
    expect(readTrial({ code, stderr })).toBe(has)
  );

  test('touches only the lo of the namespace', () => {
    for (const part of PART_NAMES) {
      for (const line of PARTS[part].trial) expect(line).toMatch(/^(qdisc|filter) add dev lo /);
    }
  });
});

describe('the files of the kernel', () => {
  const none = { config: '', builtin: '', modules: '', loaded: '' };
  const config =
    'CONFIG_NET_SCH_HTB=y\nCONFIG_NET_SCH_TBF=m\n# CONFIG_NET_SCH_PRIO is not set\nCONFIG_NET_CLS_BASIC=y\n';

  test('report nothing when they are missing', () => {
    expect(readKernelFiles(none)).toEqual(unknownCapabilities());
  });

  test('the configuration', () => {
    expect(readKernelFiles({ ...none, config })).toMatchObject({
      htb: 'yes',
      tbf: 'unknown',
      prio: 'no',
      meta: 'no'
    });
    const modules = 'kernel/net/sched/sch_tbf.ko.xz:\n';
    expect(readKernelFiles({ ...none, config, modules })).toMatchObject({ tbf: 'yes' });
    expect(readKernelFiles({ ...none, config, modules: 'kernel/x.ko:\n' })).toMatchObject({ tbf: 'no' });
  });

  test('list the available modules, built in or loaded', () => {
    const files = {
      config: '',
      builtin: 'kernel/net/sched/sch_htb.ko\n',
      modules: 'kernel/net/sched/cls_basic.ko:\nkernel/net/sched/em_meta.ko.zst: kernel/x.ko\n',
      loaded: 'sch_fq_codel 20480 1 - Live 0x0\n'
    };
    expect(readKernelFiles(files)).toEqual({
      htb: 'yes',
      fq_codel: 'yes',
      meta: 'yes',
      tbf: 'no',
      prio: 'no',
      u32: 'no',
      bpf: 'no'
    });
  });
});

describe('the interface of an address', () => {
  /** @type {any} */
  const interfaces = {
    lo: [{ address: '127.0.0.1', internal: true }],
    eth0: [
      { address: '192.0.2.7', internal: false },
      { address: 'fe80::1', internal: false }
    ],
    eth1: [{ address: 'fe80::1', internal: false }]
  };
  test.each([
    ['192.0.2.7', 'eth0'],
    ['::ffff:192.0.2.7', 'eth0'],
    ['FE80::1', 'eth0'],
    ['fe80::1%eth1', 'eth1'],
    ['127.0.0.1', 'lo'],
    ['127.9.9.9', 'lo'],
    ['::1', 'lo'],
    ['192.0.2.8', undefined],
    ['', undefined]
  ])('finds that %s is of %s', (address, name) =>
    expect(interfaceWith(address, interfaces)?.name).toBe(name)
  );
});

describe('checkUplink', () => {
  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
    'reports %s as loopback, where nothing queues',
    async (address) => {
      expect(await checkUplink(address)).toEqual({
        interface: 'lo',
        ok: true,
        kind: 'none',
        reason: 'loopback',
        bands: []
      });
    }
  );

  test.each([
    ['203.0.113.9'],
    [''],
    ['x'.repeat(10000)],
    [/** @type {any} */ (undefined)],
    [/** @type {any} */ ({})]
  ])('reports that no interface has %#', async (address) => {
    const view = await checkUplink(address);
    expect(view).toMatchObject({ interface: '', ok: false, kind: 'none', bands: [] });
    expect(view.reason).toMatch(/^No interface has the address/);
    expect(view.reason.length).toBeLessThan(200);
  });

  const outside = Object.entries(os.networkInterfaces()).find(([, of]) =>
    of?.some(({ internal }) => !internal)
  );
  needs('tc', 'ip', ...(outside ? [] : ['network interface'])).test(
    'finds the interface of this machine',
    async () => {
      const [name = '', addresses = []] = outside ?? [];
      const view = await checkUplink(addresses[0].address);
      expect(view).toMatchObject({
        interface: name,
        ok: expect.any(Boolean),
        kind: expect.stringMatching(/^[a-z_-]+$/)
      });
      expect(view.reason).not.toBe('');
    }
  );

  test('ends a tool that hangs', async () => {
    const { run } = require('../../../nodes/lib/network/common/run-command');
    await expect(run('sleep', ['30'], { timeoutMs: 50 })).rejects.toThrow(/did not finish within 50 ms/);
  });
});
