'use strict';
// The commands of each scheme, also of those that no kernel of the tests can run.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { makePlan } = require('../../../nodes/lib/network/qdisc/qdisc-plan');
const { PRIOMAP } = require('../../../nodes/lib/network/qdisc/bands');
const { classifierObject } = require('../../../nodes/lib/network/qdisc/classifier');
const { beforeOf, linkSteps, rootSteps } = require('../../../nodes/lib/network/qdisc/restore-qdisc');
const { stepLines } = require('../../../nodes/lib/network/qdisc/cli/show');
const { needs } = require('../../../bench/harness/tools');

const all = /** @type {const} */ ({
  htb: 'yes',
  tbf: 'yes',
  prio: 'yes',
  fq_codel: 'yes',
  u32: 'yes',
  meta: 'yes',
  bpf: 'yes'
});

/** @param {Record<string, any>} [change] @returns {any} */
const desired = ({ capabilities = {}, ...change } = {}) => ({
  interface: 'eth0',
  rate: 2e6,
  share: 10,
  mtu: 1500,
  object: '/run/seganet-net/classifier.o',
  ...change,
  capabilities: { ...all, ...capabilities }
});

/** @param {string} [kind] of the root @returns {any} */
const facts = (kind = 'pfifo_fast') => ({
  link: {
    name: 'eth0',
    index: 2,
    mtu: 1500,
    txqueuelen: 1000,
    gsoMaxSegs: 65535,
    queues: 4,
    isLoopback: false,
    kind: ''
  },
  qdiscs: [{ kind, handle: '0:', parent: '', isDefault: true, options: {} }],
  classes: [],
  filters: []
});

/** @param {string} scheme @param {any} of @returns {string[]} */
const commands = (scheme, of) =>
  makePlan(scheme, of, facts()).steps.map(({ tool, args }) => [tool, ...args].join(' '));

describe('htb', () => {
  test('has three classes whose own rates are the whole line, and may borrow all of it', () => {
    const classes = commands('htb', desired()).filter((line) => line.startsWith('tc class'));
    expect(classes.map((line) => / htb (rate .*?) burst/.exec(line)?.[1])).toEqual([
      'rate 2mbit ceil 2mbit',
      'rate 1600kbit ceil 2mbit prio 0 quantum 1514',
      'rate 200kbit ceil 2mbit prio 1 quantum 1514',
      'rate 200kbit ceil 2mbit prio 2 quantum 1514'
    ]);
  });

  test.each([
    [8000, 1],
    [8000, 45],
    [31310000, 33],
    [1e11, 45]
  ])('shares %d bit/s at %d percent without losing any', (rate, share) => {
    const rates = makePlan('htb', desired({ rate, share }), facts())
      .steps.filter(({ args }) => args.includes('prio') && args[0] === 'class')
      .map(({ args }) => args[args.indexOf('rate') + 1]);
    const { parseRate } = require('../../../nodes/lib/network/qdisc/link-bitrate');
    const bits = rates.map((text) => parseRate(text) || Number(text.replace('bit', '')));
    expect(bits.reduce((sum, of) => sum + of, 0)).toBe(rate);
  });

  test('begins with single packets instead of GSO', () => {
    expect(commands('htb', desired())[0]).toBe('ip link set dev eth0 gso_max_segs 1');
  });

  test('has fq_codel in the lower bands, slow enough for the line (not run here: the kernel has none)', () => {
    const leaves = commands('htb', desired()).filter((line) => / handle [123]0: /.test(line));
    expect(leaves).toEqual([
      'tc qdisc add dev eth0 parent 1:10 handle 10: pfifo limit 100',
      'tc qdisc add dev eth0 parent 1:20 handle 20: fq_codel target 10ms',
      'tc qdisc add dev eth0 parent 1:30 handle 30: fq_codel target 10ms'
    ]);
    expect(commands('htb', desired({ rate: 1e8 })).join('\n')).toContain('fq_codel target 5ms');
  });

  test('has short queues in the lower bands of a slower line', () => {
    const lines = (/** @type {number} */ rate) =>
      commands('htb', desired({ rate, capabilities: { fq_codel: 'no' } })).filter((line) =>
        / handle 20: /.test(line)
      );
    expect(lines(2e6)[0]).toContain('pfifo limit 17');
    expect(lines(8000)[0]).toContain('pfifo limit 16');
    expect(lines(1e10)[0]).toContain('pfifo limit 1000');
  });

  test('sees DSCP in IPv4 and IPv6', () => {
    const lines = commands('htb', desired()).filter((line) => line.includes(' u32 match ip'));
    expect(lines).toHaveLength(8);
    expect(lines[0]).toMatch(/protocol ip prio 10 u32 match ip dsfield 0xb8 0xfc flowid 1:10$/);
    expect(lines[1]).toMatch(/protocol ipv6 prio 11 u32 match ip6 priority 0xb8 0xfc flowid 1:10$/);
  });

  test('sees SO_PRIORITY by meta (not run here: the kernel has none), else by bpf, else not, and reports which', () => {
    const last = (/** @type {any} */ capabilities) => {
      const { steps, warnings } = makePlan('htb', desired({ capabilities }), facts());
      return {
        line: steps.at(-1)?.args.join(' '),
        logged: warnings.some((text) => text.includes('only DSCP'))
      };
    };
    expect(last({}).line).toMatch(/protocol all prio 30 basic match meta\(priority eq 5\) flowid 1:30$/);
    expect(last({ meta: 'no' }).line).toMatch(
      /prio 30 bpf object-file \/run\/seganet-net\/classifier\.o section classifier$/
    );
    expect(last({ meta: 'no' }).logged).toBe(false);
    expect(last({ meta: 'no', bpf: 'no' })).toMatchObject({
      line: expect.stringContaining('protocol arp'),
      logged: true
    });
  });

  test('allows a packet of the interface in one burst', () => {
    for (const mtu of [576, 1500, 9000, 65536]) {
      for (const rate of [8000, 1e11]) {
        for (const scheme of ['htb', 'tbf-prio']) {
          for (const line of commands(scheme, desired({ mtu, rate }))) {
            const burst = / burst (\d+)b/.exec(line)?.[1];
            if (burst) expect(Number(burst)).toBeGreaterThan(mtu);
          }
        }
      }
    }
  });
});

test('tbf-prio is tbf with prio inside (not run here: the kernel has no prio)', () => {
  expect(commands('tbf-prio', desired({ capabilities: { fq_codel: 'no', u32: 'no' } }))).toEqual([
    'tc qdisc add dev eth0 root handle 1: tbf rate 2mbit burst 3200b latency 50ms',
    'tc qdisc add dev eth0 parent 1:1 handle 2: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1',
    'tc qdisc add dev eth0 parent 2:1 handle 10: pfifo limit 100',
    'tc qdisc add dev eth0 parent 2:2 handle 20: pfifo limit 17',
    'tc qdisc add dev eth0 parent 2:3 handle 30: pfifo limit 17'
  ]);
  expect(commands('tbf-prio', desired()).at(-1)).toMatch(/parent 2: .* ip6 priority 0x04 0xfc flowid 2:3$/);
});

test('tbf-pfifo_fast sets the length of the bands before it makes them', () => {
  expect(commands('tbf-pfifo_fast', desired())).toEqual([
    'ip link set dev eth0 txqueuelen 17',
    'tc qdisc add dev eth0 root handle 1: tbf rate 2mbit burst 3200b latency 50ms',
    'tc qdisc add dev eth0 parent 1:1 handle 2: pfifo_fast'
  ]);
});

test('prio and pfifo_fast do not shape (prio not run here: the kernel has none)', () => {
  expect(commands('prio', desired({ rate: 0, capabilities: { fq_codel: 'no', u32: 'no' } }))).toEqual([
    'tc qdisc add dev eth0 root handle 1: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1'
  ]);
  expect(commands('prio', desired({ rate: 0 }))[2]).toBe(
    'tc qdisc add dev eth0 parent 1:2 handle 20: fq_codel target 5ms'
  );
  expect(commands('pfifo_fast', desired({ rate: 0 }))).toEqual([
    'tc qdisc add dev eth0 root handle 1: pfifo_fast'
  ]);
});

test('the bands of SO_PRIORITY are those of pfifo_fast', () => {
  expect(PRIOMAP.join(' ')).toBe('1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1');
});

describe('auto', () => {
  /** @param {any} capabilities @param {number} [rate] */
  const chosen = (capabilities, rate = 2e6) => makePlan('auto', desired({ rate, capabilities }), facts());

  test('takes the best scheme of the kernel, and names missing features', () => {
    expect(chosen({}).scheme).toBe('htb');
    expect(chosen({ htb: 'no' })).toMatchObject({
      scheme: 'tbf-prio',
      skipped: [{ scheme: 'htb', why: 'this kernel has no htb' }]
    });
    expect(chosen({ htb: 'no', prio: 'no' }).scheme).toBe('tbf-pfifo_fast');
    expect(chosen({ u32: 'no', meta: 'no', bpf: 'no' })).toMatchObject({
      scheme: 'tbf-prio',
      skipped: [{ scheme: 'htb', why: expect.stringContaining('no filter') }]
    });
    expect(chosen({}, 0).scheme).toBe('prio');
    expect(chosen({ prio: 'no' }, 0).scheme).toBe('pfifo_fast');
  });

  test('cannot shape without htb and tbf', () => {
    expect(() => chosen({ htb: 'no', tbf: 'no' })).toThrow(/neither htb nor tbf\. Without --rate/);
  });

  test('continues with unknown features, with a message', () => {
    const { scheme, warnings } = chosen({ htb: 'unknown', fq_codel: 'unknown' });
    expect(scheme).toBe('htb');
    expect(warnings.at(-1)).toMatch(/unknown whether this kernel has htb, fq_codel/);
  });
});

test('takes a scheme that is requested, or refuses it with the reason', () => {
  expect(makePlan('tbf-pfifo_fast', desired(), facts()).scheme).toBe('tbf-pfifo_fast');
  expect(() => makePlan('htb', desired({ rate: 0 }), facts())).toThrow(
    /htb cannot be used: it requires --rate/
  );
  expect(() => makePlan('prio', desired(), facts())).toThrow(/prio cannot be used: it does not shape/);
  expect(() => makePlan('tbf-prio', desired({ capabilities: { prio: 'no' } }), facts())).toThrow(
    /has no prio/
  );
});

describe('warnings', () => {
  /** @param {string} scheme @param {any} of @param {any} at */
  const logged = (scheme, of, at = facts()) => makePlan(scheme, of, at).warnings.join('\n');

  test('say without a rate that the queue may be elsewhere', () => {
    expect(logged('auto', desired({ rate: 0 }))).toMatch(/No --rate: .*slightly below that of the uplink/);
    expect(logged('auto', desired())).toBe('');
    const vlan = facts();
    vlan.link.kind = 'vlan';
    expect(logged('auto', desired({ rate: 0 }), vlan)).toContain('packets never wait in');
  });

  test('say that a root replaces mq, and that strict bands starve', () => {
    expect(logged('htb', desired(), facts('mq'))).toContain('4 transmit queues (mq)');
    expect(logged('tbf-pfifo_fast', desired())).toMatch(/starves the other bands.*\n.*not DSCP/);
  });
});

test('prints a command that a shell accepts, whatever the interface is called', () => {
  const { steps } = makePlan('pfifo_fast', desired({ rate: 0, interface: "a;'$b" }), facts());
  const [, line] = stepLines(steps);
  const printed = execFileSync('sh', ['-c', line.replace(/^tc /, 'printf "%s\\n" ')], { encoding: 'utf8' });
  expect(printed.split('\n').slice(0, -1)).toEqual(steps[0].args);
});

test('restores a manual root qdisc where its kind gives all parameters', () => {
  const at = facts('pfifo');
  expect(rootSteps('eth0', beforeOf(at))).toEqual([]);
  Object.assign(at.qdiscs[0], { handle: '7:', options: { limit: 77 } });
  const before = beforeOf(at);
  expect(rootSteps('eth0', before).map(({ args }) => args.join(' '))).toEqual([
    'qdisc add dev eth0 root handle 7: pfifo limit 77'
  ]);
  expect(
    linkSteps('eth0', before, { txqueuelen: 17, gsoMaxSegs: 1 }).map(({ args }) => args.join(' '))
  ).toEqual(['link set dev eth0 txqueuelen 1000', 'link set dev eth0 gso_max_segs 65535']);
});

needs('llvm-objdump').test('has the eBPF program that its comment describes', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-net-'));
  try {
    const file = path.join(folder, 'classifier.o');
    fs.writeFileSync(file, classifierObject());
    const text = execFileSync('llvm-objdump', ['-d', '--no-show-raw-insn', file], { encoding: 'utf8' });
    const lines = text
      .split('\n')
      .flatMap((line) => /^\s+\d+:\s+(.*)$/.exec(line)?.[1].replace(/ <.*/, '') ?? []);
    expect(lines).toEqual([
      'r2 = *(u32 *)(r1 + 32)',
      ...['r0 = 65552', 'if r2 == 6 goto +7', 'if r2 == 7 goto +6'],
      ...[
        'r0 = 65584',
        'if r2 == 1 goto +4',
        'if r2 == 2 goto +3',
        'if r2 == 3 goto +2',
        'if r2 == 5 goto +1'
      ],
      ...['r0 = 0', 'exit']
    ]);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
