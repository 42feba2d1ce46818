'use strict';
// From the current to the desired state.

const { choosePaths } = require('../../../nodes/lib/network/paths/path-selection');
const { networkOf } = require('../../../nodes/lib/network/paths/desired-state');
const { prepare } = require('../../../nodes/lib/network/paths/path-steps-run');
const { foreignEndpoints, stepsAway, stepsTo } = require('../../../nodes/lib/network/paths/path-steps');

const device = (/** @type {string} */ name, /** @type {string} */ address, more = {}) => ({
  name,
  index: 2,
  isUp: true,
  carrier: true,
  isLoopback: false,
  addresses: address === '' ? [] : [{ address, prefix: 24 }],
  ...more
});
const route = (/** @type {string} */ name, /** @type {string} */ gateway, metric = 100) => ({
  destination: 'default',
  gateway,
  device: name,
  table: 254,
  metric,
  source: '',
  onlink: false
});
/** @param {object} [more] @returns {any} */
const facts = (more) => ({
  interfaces: [device('eth0', '10.0.1.1'), device('wwan0', '10.0.2.1')],
  defaults: [route('eth0', '10.0.1.2'), route('wwan0', '10.0.2.2', 200)],
  routes: [],
  rules: [],
  mptcp: true,
  endpoints: [],
  limits: { subflows: 2, accepted: 0 },
  sysctls: { enabled: 1, stale_loss_cnt: 1, close_timeout: 2, blackhole_timeout: 0 },
  ...more
});
const BOTH = /** @type {const} */ ([
  { target: 'eth0', role: 'active' },
  { target: 'wwan0', role: 'backup' }
]);
/** @param {any} of @param {any} [fate] @param {any} [wanted] @param {any[]} [known] */
const commands = (of, fate = () => 'there', wanted = BOTH, known = []) =>
  stepsTo(of, choosePaths(wanted, of, known), fate).map(({ tool, args }) => [tool, ...args].join(' '));

/** The kernel's state after these commands. @param {string[]} lines @param {any} [of] */
function after(lines, of = facts()) {
  const word = (/** @type {string} */ line, /** @type {string} */ name) =>
    new RegExp(`\\b${name} (\\S+)`).exec(line)?.[1] ?? '';
  const rules = lines
    .filter((line) => line.startsWith('ip rule add'))
    .map((line) => ({
      preference: Number(word(line, 'pref')),
      source: word(line, 'from'),
      table: word(line, 'lookup') === 'main' ? 254 : Number(word(line, 'lookup')),
      protocol: 177,
      suppress: line.includes('suppress') ? 0 : -1
    }));
  const routes = lines
    .filter((line) => line.startsWith('ip route replace'))
    .map((line) => ({
      destination: line.split(' ')[3],
      gateway: word(line, 'via'),
      device: word(line, 'dev'),
      table: Number(word(line, 'table')),
      metric: 0,
      source: word(line, 'src'),
      onlink: / onlink /.test(line)
    }));
  const endpoints = lines
    .filter((line) => line.startsWith('ip mptcp endpoint add'))
    .map((line) => ({
      id: Number(word(line, 'id')),
      address: line.split(' ')[4],
      device: word(line, 'dev'),
      subflow: true,
      backup: / backup$/.test(line),
      more: false
    }));
  return { ...of, rules, routes, endpoints };
}

test('sets up two paths: routes, then rules, then endpoints', () => {
  expect(commands(facts())).toEqual([
    'ip route replace 10.0.1.0/24 dev eth0 scope link src 10.0.1.1 table 27101 proto 177',
    'ip route replace default via 10.0.1.2 dev eth0 src 10.0.1.1 table 27101 proto 177',
    'ip route replace 10.0.2.0/24 dev wwan0 scope link src 10.0.2.1 table 27102 proto 177',
    'ip route replace default via 10.0.2.2 dev wwan0 src 10.0.2.1 table 27102 proto 177',
    'ip rule add pref 27101 from 10.0.1.1 lookup main suppress_prefixlength 0 protocol 177',
    'ip rule add pref 27111 from 10.0.1.1 lookup 27101 protocol 177',
    'ip rule add pref 27102 from 10.0.2.1 lookup main suppress_prefixlength 0 protocol 177',
    'ip rule add pref 27112 from 10.0.2.1 lookup 27102 protocol 177',
    'ip mptcp endpoint add 10.0.1.1 dev eth0 id 231 subflow',
    'ip mptcp endpoint add 10.0.2.1 dev wwan0 id 232 subflow backup'
  ]);
});

test('changes nothing that is set up already', () => {
  expect(commands(after(commands(facts())))).toEqual([]);
});

test('removes everything of its own with undo, and nothing else', () => {
  const there = after(commands(facts()));
  const others = {
    rules: [{ preference: 27101, source: '10.0.1.1', table: 5, protocol: 0, suppress: -1 }],
    routes: [{ ...route('eth0', '10.0.1.9'), table: 5 }],
    endpoints: [
      { id: 1, address: '10.0.3.1', device: 'eth1', subflow: true, backup: false, more: false },
      { id: 237, address: '10.0.4.1', device: 'eth1', subflow: true, backup: false, more: false },
      { id: 238, address: '10.0.5.1', device: 'eth1', subflow: false, backup: false, more: true }
    ]
  };
  const mixed = Object.fromEntries(
    Object.entries(others).map(([name, list]) => [name, [...there[name], ...list]])
  );
  const steps = stepsAway({ ...there, ...mixed }).map(({ args }) => args.join(' '));
  expect(steps).toHaveLength(10);
  expect(steps.slice(0, 2)).toEqual(['mptcp endpoint delete id 231', 'mptcp endpoint delete id 232']);
  expect(steps.filter((line) => /table 5|10\.0\.[345]\./.test(line))).toEqual([]);
  expect(stepsAway(facts(others))).toEqual([]);
});

test('handles a new address: the old endpoint first, its rules and routes, then the new ones', () => {
  const there = after(commands(facts()));
  const moved = { ...there, interfaces: [device('eth0', '10.0.1.77'), there.interfaces[1]] };
  const lines = commands(moved);
  expect(lines[0]).toBe('ip mptcp endpoint delete id 231');
  expect(lines.at(-1)).toBe('ip mptcp endpoint add 10.0.1.77 dev eth0 id 231 subflow');
  expect(lines).toContain('ip rule del pref 27111 from 10.0.1.1 lookup 27101 protocol 177');
  expect(lines).toContain('ip rule add pref 27111 from 10.0.1.77 lookup 27101 protocol 177');
  expect(lines.filter((line) => line.includes('10.0.2.'))).toEqual([]);
});

test('keeps the rule of a path between two addresses, and its endpoint if that is to be kept', () => {
  const there = after(commands(facts()));
  const lost = { ...there, interfaces: [device('eth0', ''), there.interfaces[1]] };
  const lines = commands(lost, () => 'kept');
  expect(lines.filter((line) => !line.startsWith('ip route del'))).toEqual([]);
  expect(commands(lost, () => 'gone')).toContain('ip mptcp endpoint delete id 231');
});

test('restores routes that went with the link by the known gateway, when the interface is up', () => {
  const there = { ...after(commands(facts())), routes: [], defaults: [route('wwan0', '10.0.2.2')] };
  const known = [{ name: 'eth0', interface: 'eth0', slot: 1, gateway: '10.0.1.2' }];
  const down = { ...there, interfaces: [device('eth0', '10.0.1.1', { isUp: false, carrier: false })] };
  expect(commands(down, () => 'gone', [BOTH[0]], known).join()).not.toContain('route replace');
  expect(commands(there, undefined, [BOTH[0]], known)).toContain(
    'ip route replace default via 10.0.1.2 dev eth0 src 10.0.1.1 table 27101 proto 177'
  );
});

test('sets up PPP without a gateway, and reaches a gateway outside the network', () => {
  const ppp = facts({
    interfaces: [device('ppp0', '', { addresses: [{ address: '10.64.0.9', prefix: 32 }] })],
    defaults: [route('ppp0', '')]
  });
  expect(commands(ppp, undefined, []).filter((line) => line.startsWith('ip route'))).toEqual([
    'ip route replace default dev ppp0 scope link src 10.64.0.9 table 27101 proto 177'
  ]);
  const far = facts({ interfaces: [device('eth0', '10.0.1.1')], defaults: [route('eth0', '172.31.1.1')] });
  expect(commands(far, undefined, [])[1]).toContain('default via 172.31.1.1 dev eth0 onlink src 10.0.1.1');
});

test('deletes an endpoint before it is recreated, and leaves a kept one untouched', () => {
  const there = after(commands(facts()));
  expect(commands(there, () => 'new')).toEqual([
    'ip mptcp endpoint delete id 231',
    'ip mptcp endpoint delete id 232',
    'ip mptcp endpoint add 10.0.1.1 dev eth0 id 231 subflow',
    'ip mptcp endpoint add 10.0.2.1 dev wwan0 id 232 subflow backup'
  ]);
  expect(commands(there, () => 'kept')).toEqual([]);
});

test('changes a role by a flag of the endpoint, and its subflows survive; recreates it where the kernel has no such flag', () => {
  const there = after(commands(facts()));
  const swapped = [
    { target: 'eth0', role: 'backup' },
    { target: 'wwan0', role: 'active' }
  ];
  expect(commands(there, undefined, swapped)).toEqual([
    'ip mptcp endpoint change id 231 backup',
    'ip mptcp endpoint change id 232 nobackup'
  ]);
  const [step] = stepsTo(there, choosePaths(/** @type {any} */ (swapped), there, []), () => 'there');
  expect(step.otherwise?.map(({ args }) => args.slice(2).join(' '))).toEqual([
    'delete id 231',
    'add 10.0.1.1 dev eth0 id 231 subflow backup'
  ]);
  expect(commands(there, () => 'kept', swapped)).toEqual([]);
  expect(commands(there, () => 'gone', swapped)).toHaveLength(2);
});

test('names endpoints of other owners and leaves them alone', () => {
  const of = facts({
    endpoints: [{ id: 3, address: '10.0.1.1', device: 'eth0', subflow: true, backup: false, more: false }]
  });
  const paths = choosePaths([...BOTH], of, []);
  expect(foreignEndpoints(of, paths).map(({ id }) => id)).toEqual([3]);
  expect(commands(of).filter((line) => line.includes('endpoint'))).toEqual([
    'ip mptcp endpoint add 10.0.2.1 dev wwan0 id 232 subflow backup'
  ]);
});

test('writes settings only where they do not suffice, and not where the kernel has none', () => {
  const of = facts({ sysctls: { enabled: 0, stale_loss_cnt: 4, close_timeout: 1, blackhole_timeout: null } });
  expect(commands(of).slice(0, 2)).toEqual([
    'sysctl -w net.mptcp.enabled=1',
    'sysctl -w net.mptcp.stale_loss_cnt=1'
  ]);
  expect(commands(of)[2]).toContain('route');
});

test('knows what undo restores, also when the step that raises the limit again fails', () => {
  const three = [...BOTH, { target: 'usb0', role: 'backup' }];
  const interfaces = [device('eth0', '10.0.1.1'), device('wwan0', '10.0.2.1'), device('usb0', '10.0.3.1')];
  /** @param {number} subflows @param {any} wanted @param {any} old */
  const stateOf = (subflows, wanted, old) => {
    const now = facts({ interfaces, limits: { subflows, accepted: 0 } });
    return prepare({ facts: now, paths: choosePaths(wanted, now, []), old }).state;
  };
  const first = stateOf(1, BOTH, null);
  expect(first.subflows).toMatchObject({ before: 1, made: 2 });
  const raised = stateOf(2, three, first);
  expect(raised.subflows).toMatchObject({ before: 1, made: 3 });
  // The limit is still 2.
  expect(stateOf(2, three, raised).subflows).toMatchObject({ before: 1, made: 3 });
  // Somebody else has set it.
  expect(stateOf(0, three, raised).subflows).toMatchObject({ before: 0, made: 3 });
});

test('raises limits, never lowers them; without MPTCP it sets routes only', () => {
  expect(commands(facts({ limits: { subflows: 1, accepted: 3 } }))[0]).toBe('ip mptcp limits set subflows 2');
  expect(commands(facts({ limits: { subflows: 8, accepted: 3 } })).join()).not.toContain('limits');
  const none = { enabled: null, stale_loss_cnt: null, close_timeout: null, blackhole_timeout: null };
  const lines = commands(facts({ mptcp: false, limits: null, sysctls: none }));
  expect(lines).toHaveLength(8);
  expect(lines.join()).not.toMatch(/mptcp|sysctl/);
});

describe('path selection', () => {
  test('auto takes paths with a default route, mobile ones as backup, and those that had one', () => {
    const known = [{ name: 'wlan0', interface: 'wlan0', slot: 2, gateway: '10.0.3.2' }];
    expect(choosePaths([], facts(), known).map(({ name, role, slot }) => [name, role, slot])).toEqual([
      ['eth0', 'active', 1],
      ['wwan0', 'backup', 3],
      ['wlan0', 'active', 2]
    ]);
  });

  test('takes an address as the interface that has it', () => {
    const [path] = choosePaths([{ target: '10.0.2.1', role: 'active' }], facts(), []);
    expect(path).toMatchObject({
      name: '10.0.2.1',
      interface: 'wwan0',
      address: '10.0.2.1',
      gateway: '10.0.2.2'
    });
  });

  test('keeps a missing interface as a path', () => {
    const [path] = choosePaths([{ target: 'usb9', role: 'backup' }], facts(), []);
    expect(path).toMatchObject({ exists: false, carrier: false, address: '', slot: 1 });
  });
});

test.each([
  ['10.0.1.77', 24, '10.0.1.0/24'],
  ['192.168.255.255', 17, '192.168.128.0/17'],
  ['255.255.255.255', 1, '128.0.0.0/1'],
  ['10.1.2.3', 32, '10.1.2.3/32'],
  ['10.1.2.3', 0, '0.0.0.0/0']
])('finds %s/%i in %s', (address, prefix, network) => expect(networkOf(address, prefix)).toBe(network));
