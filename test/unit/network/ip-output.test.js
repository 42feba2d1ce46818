'use strict';
// Output of ip: as recorded (iproute2 6.1), and malformed.

const parse = require('../../../nodes/lib/network/paths/ip-output');
const { Lines, MOST_LINE, parseLine } = require('../../../nodes/lib/network/paths/monitor-lines');
const { isDisabled } = require('../../../nodes/lib/network/paths/network-manager');
const { seeded } = require('../../fixtures/random');

/** Link down and up, a route, a new address, the old one gone, the interface gone. */
const RECORDED = [
  '3: a0@b0: <BROADCAST,MULTICAST> mtu 1500 qdisc noqueue state DOWN group default \\    link/ether 56:0f:fe:82:9a:6a brd ff:ff:ff:ff:ff:ff',
  'Deleted fe80::/64 dev a0 proto kernel metric 256 pref medium',
  'Deleted multicast ff00::/8 dev a0 table local proto kernel metric 256 pref medium',
  'Deleted 3: a0    inet6 fe80::540f:feff:fe82:9a6a/64 scope link tentative \\       valid_lft forever preferred_lft forever',
  '2: b0@a0: <NO-CARRIER,BROADCAST,MULTICAST,UP,M-DOWN> mtu 1500 qdisc noqueue state LOWERLAYERDOWN group default \\    link/ether 12:35:f8:38:94:fd brd ff:ff:ff:ff:ff:ff',
  '3: a0@b0: <NO-CARRIER,BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state LOWERLAYERDOWN group default \\    link/ether 56:0f:fe:82:9a:6a brd ff:ff:ff:ff:ff:ff',
  '10.0.1.0/24 dev a0 proto kernel scope link src 10.0.1.1 ',
  '3: a0@b0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default \\    link/ether 56:0f:fe:82:9a:6a brd ff:ff:ff:ff:ff:ff',
  'default via 10.0.1.2 dev a0 table 27101 proto 77 ',
  '3: a0    inet 10.0.1.7/24 scope global secondary a0\\       valid_lft forever preferred_lft forever',
  'Deleted 3: a0    inet 10.0.1.1/24 scope global a0\\       valid_lft forever preferred_lft forever',
  'Deleted 3: a0@NONE: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default \\    link/ether 56:0f:fe:82:9a:6a brd ff:ff:ff:ff:ff:ff'
];

describe('lines of ip monitor', () => {
  test('are read as recorded', () => {
    const reported = RECORDED.map(parseLine).map(
      (event) => event && `${event.isGone ? '-' : '+'}${event.kind} ${event.device} ${event.carrier}`
    );
    expect(reported).toEqual([
      '+link a0 false',
      '-route a0 null',
      '-route a0 null',
      '-address a0 null',
      '+link b0 false',
      '+link a0 false',
      '+route a0 null',
      '+link a0 true',
      '+route a0 null',
      '+address a0 null',
      '-address a0 null',
      '-link a0 false'
    ]);
  });

  test('are read with labels', () => {
    expect(parseLine(`[LINK]${RECORDED[7]}`)).toMatchObject({ kind: 'link', device: 'a0', carrier: true });
    expect(parseLine('[2026-11-22T02:00:00.1] [ROUTE]default via 10.0.1.2 dev a0')).toMatchObject({
      kind: 'route'
    });
  });

  test.each([
    '',
    ' ',
    '\0',
    'Deleted ',
    'Deleted',
    '3:',
    '3: ',
    '3: @b0: <UP>',
    '3: a0@b0: <',
    '3: a0 <up>',
    'default via 10.0.1.2 dev',
    'dev a0',
    '    link/ether 56:0f:fe:82:9a:6a',
    '[{"ifindex":3}]',
    'Error: no room'
  ])('reject %j as an event', (line) => expect(parseLine(line)).toBeNull());

  test('are read however they are split', () => {
    const text = `${RECORDED.join('\n')}\n`;
    for (let at = 0; at <= text.length; at++) {
      const lines = new Lines();
      expect([...lines.push(text.slice(0, at)), ...lines.push(text.slice(at))]).toEqual(RECORDED);
    }
  });

  test('are dropped without an end; the next is read', () => {
    const lines = new Lines();
    expect(lines.push('x'.repeat(MOST_LINE + 1))).toEqual([]);
    expect(lines.push('x'.repeat(MOST_LINE))).toEqual([]);
    expect(lines.push(`x\n${RECORDED[0]}\n`)).toEqual([RECORDED[0]]);
    expect(lines.push(`${'y'.repeat(MOST_LINE + 1)}\n1\n`)).toEqual(['1']);
  });

  test('become events or none, never an error, when damaged at random', () => {
    const { integer } = seeded(7);
    for (let i = 0; i < 20000; i++) {
      const line = RECORDED[integer(RECORDED.length)];
      const other = RECORDED[integer(RECORDED.length)];
      const damage = String.fromCharCode(integer(300));
      const event = parseLine(
        line.slice(0, integer(line.length)) + damage + other.slice(integer(other.length))
      );
      if (event) expect(event.device).not.toBe('');
    }
  });
});

describe('lists of ip', () => {
  test('show carrier on an interface that can send, and permanent addresses', () => {
    const entry = (/** @type {object} */ more) => ({
      ifname: 'eth0',
      ifindex: 2,
      flags: ['UP', 'LOWER_UP'],
      operstate: 'UP',
      addr_info: [{ family: 'inet', local: '10.0.1.1', prefixlen: 24, scope: 'global' }],
      ...more
    });
    const first = (/** @type {object} */ more) => parse.parseInterfaces(JSON.stringify([entry(more)]))[0];
    expect(first({})).toMatchObject({
      carrier: true,
      isUp: true,
      addresses: [{ address: '10.0.1.1', prefix: 24 }]
    });
    expect(first({ operstate: 'UNKNOWN' }).carrier).toBe(true);
    expect(first({ operstate: 'DORMANT' }).carrier).toBe(false);
    expect(first({ flags: ['UP', 'NO-CARRIER'], operstate: 'DOWN' })).toMatchObject({
      isUp: true,
      carrier: false
    });
    const [info] = entry({}).addr_info;
    const odd = [
      { ...info, scope: 'link' },
      { ...info, secondary: true },
      { ...info, deprecated: true },
      null,
      7
    ];
    expect(first({ addr_info: odd }).addresses).toEqual([]);
  });

  test('show limits, as text and as JSON', () => {
    expect(parse.parseLimits('add_addr_accepted 0 subflows 2 \n')).toEqual({ subflows: 2, accepted: 0 });
    expect(parse.parseLimits('{"add_addr_accepted":1,"subflows":4}')).toEqual({ subflows: 4, accepted: 1 });
    expect(parse.parseLimits('Error')).toBeNull();
  });

  test.each([
    '',
    '\0',
    'null',
    '{}',
    '7',
    '[',
    '[null]',
    '[[]]',
    '[{}]',
    '[{"dst":1,"dev":{},"address":[],"ifname":null}]'
  ])('yield nothing for %j', (text) => {
    expect(parse.parseInterfaces(text)).toEqual([]);
    expect(parse.parseRoutes(text, 254)).toEqual([]);
    expect(parse.parseEndpoints(text)).toEqual([]);
    for (const rule of parse.parseRules(text)) expect(rule).toMatchObject({ source: '', protocol: 0 });
  });
});

test.each([
  ['0x0 (default)', false],
  ['connection.mptcp-flags:0x0 (default)', false],
  ['0x22 (enabled,subflow)', false],
  ['0x1 (disabled)', true],
  ['connection.mptcp-flags:disabled', true],
  ['0x1', true],
  ['', false]
])('show whether NetworkManager leaves MPTCP alone when its connection has %j: %s', (text, is) =>
  expect(isDisabled(text)).toBe(is)
);
