'use strict';
// Input that seganet-net accepts: it ends up in commands run as root.

const { spawnSync } = require('node:child_process');
const {
  checkInterface,
  checkRate,
  checkScheme,
  checkShare
} = require('../../../nodes/lib/network/qdisc/qdisc-options');
const { formatRate, parseRate, readRate } = require('../../../nodes/lib/network/qdisc/link-bitrate');
const { script } = require('../../fixtures/network/net-lab');

describe('rates', () => {
  test.each([
    ['8kbit', 8000],
    ['8000bit', 8000],
    ['2mbit', 2e6],
    ['2Mbit', 2e6],
    ['31.31mbit', 31310000],
    ['0.5gbit', 5e8],
    ['100gbit', 1e11]
  ])('reads %s as %d bit/s', (text, rate) => expect(parseRate(text)).toBe(rate));

  test.each([
    ...[
      '',
      '2',
      'mbit',
      '2 mbit',
      ' 2mbit',
      '2mbit ',
      '2mbit\n',
      '-2mbit',
      '+2mbit',
      '1e6bit',
      '0x10kbit',
      '2mbps'
    ],
    ...[
      '2Mibit',
      '7.9kbit',
      '100.1gbit',
      '0mbit',
      '.5mbit',
      '1.mbit',
      '1,5mbit',
      'NaNbit',
      '2mbit;reboot',
      '2mbit\0'
    ],
    ...['９mbit', '9'.repeat(400) + 'bit', '1'.repeat(16) + 'bit']
  ])('rejects %j', (text) => {
    expect(parseRate(text)).toBeNaN();
    expect(() => checkRate(text)).toThrow(/--rate takes 8kbit to 100gbit/);
  });

  test('passes rates to tc in whole units, and reads the same back', () => {
    expect([8000, 2e6, 31310000, 1e9, 12345].map(formatRate)).toEqual([
      ...['8kbit', '2mbit', '31310kbit', '1gbit', '12345bit']
    ]);
    for (const rate of [8000, 2e6, 31310000, 1e11]) expect(parseRate(formatRate(rate))).toBe(rate);
    expect(['1600Kbit', '2Mbit', '31310Kbit', '0bit', '1Gbit', '', '2'].map(readRate)).toEqual([
      ...[1.6e6, 2e6, 31310000, 0, 1e9, 0, 0]
    ]);
  });
});

describe('interface names', () => {
  test.each([
    'eth0',
    'wlan0',
    'eth0.100',
    'br-lan',
    'enp0s31f6',
    'ppp0',
    'a',
    'x'.repeat(15),
    'we$rd',
    "it's",
    'a;b',
    'eth_0'
  ])('accepts %j', (name) => expect(checkInterface(name)).toBe(name));

  test.each([
    '',
    '.',
    '..',
    '-eth0',
    '--help',
    'a/b',
    '../x',
    'a b',
    'a:1',
    'a\n',
    '\0',
    'a\0',
    '%d',
    'x'.repeat(16),
    'ä',
    'a\tb',
    '\u{1f600}'
  ])('rejects %j', (name) =>
    expect(() => checkInterface(name)).toThrow(/--interface takes the name of a network interface/)
  );

  test('writes a message about one on one short line', () => {
    let message = '';
    try {
      checkInterface(`a\n${'b'.repeat(5000)}`);
    } catch (error) {
      ({ message } = /** @type {Error} */ (error));
    }
    expect(message).not.toContain('\n');
    expect(message.length).toBeLessThan(200);
  });
});

test.each(['0', '46', '100', '-1', '1.5', '', 'ten', '1e1', ' 5'])('refuses --share %j', (text) =>
  expect(() => checkShare(text)).toThrow(/--share takes 1 to 45 percent/)
);

test.each(['', 'HTB', 'cake', 'toString', '__proto__', 'constructor'])('refuses --scheme %j', (text) =>
  expect(() => checkScheme(text)).toThrow(/--scheme takes auto or one of htb, /)
);

describe('the command line', () => {
  /** @param {string[]} args */
  const net = (...args) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });

  test('explains itself, and each command', () => {
    const { status, stdout } = net('--help');
    expect(status).toBe(0);
    for (const word of ['plan', 'apply', 'check', 'undo', '--rate', '--share', 'exit codes']) {
      expect(stdout).toContain(word);
    }
    for (const command of ['plan', 'apply', 'check', 'undo']) {
      const help = net(command, '--help');
      expect(help).toMatchObject({ status: 0, stderr: '' });
      expect(help.stdout).toMatch(new RegExp(`^seganet-net ${command} `));
      expect(net('help', command).stdout).toBe(help.stdout);
    }
    expect(net('check', '--help').stdout).not.toContain('--rate');
    expect(net('--version').stdout.trim()).toBe(require('../../../package.json').version);
  });

  test.each([
    [[], 'The command is missing'],
    [['look'], "no command 'look'"],
    [['__proto__'], "no command '__proto__'"],
    [['plan', '--frob'], "Unknown option '--frob'"],
    [['check', '--rate', '2mbit'], "Unknown option '--rate'"],
    [['undo', '--scheme', 'htb'], "Unknown option '--scheme'"],
    [['plan', 'eth0'], "'eth0'"],
    [['plan', '--interface', 'a b'], '"a b"'],
    [['apply', '--interface', 'eth0', '--rate', '2'], '"2"'],
    [['plan', '--state-dir', ''], '--state-dir'],
    [['plan', '--interface'], '--interface']
  ])('rejects %j as wrong usage', (args, words) => {
    const { status, stdout, stderr } = net(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('reports that it cannot inspect without tc and ip', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [
        '-e',
        `require('node:fs'); const run = require(${JSON.stringify(require.resolve('../../../nodes/lib/network/common/run-command'))});
        run.run('seganet-no-such-tool', []).catch((error) => { console.error(error.message); process.exit(error.exitCode); });`
      ],
      { encoding: 'utf8' }
    );
    expect({ status, stderr }).toEqual({ status: 3, stderr: "'seganet-no-such-tool' is not installed.\n" });
  });
});
