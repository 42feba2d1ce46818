'use strict';
// Input that seganet-paths accepts: it ends up in commands run with CAP_NET_ADMIN.

const { checkBroker, checkPaths } = require('../../../nodes/lib/network/paths/path-settings');
const { readArguments } = require('../../../nodes/lib/network/paths/cli/usage');

const code = (/** @type {() => unknown} */ body) => {
  try {
    body();
  } catch (error) {
    return /** @type {any} */ (error).exitCode;
  }
  return 0;
};

describe('--paths', () => {
  test('takes interfaces and addresses, each with a role', () => {
    expect(checkPaths('eth0,wwan0:backup, 192.0.2.7:active')).toEqual([
      { target: 'eth0', role: 'active' },
      { target: 'wwan0', role: 'backup' },
      { target: '192.0.2.7', role: 'active' }
    ]);
    expect(checkPaths('wwan0:metered,wwan1:backup:metered,eth1:metered:active')).toEqual([
      { target: 'wwan0', role: 'active', metered: true },
      { target: 'wwan1', role: 'backup', metered: true },
      { target: 'eth1', role: 'active', metered: true }
    ]);
    expect(checkPaths('auto')).toEqual([]);
    expect(checkPaths('eth0.100,br-lan,wlx00c0ca')).toHaveLength(3);
  });

  test.each([
    '',
    ',',
    'eth0,',
    'eth0,eth0:backup',
    '-eth0',
    '..',
    'eth0:spare',
    'eth0:backup:1',
    'eth0:backup:active',
    'eth0:metered:metered',
    'eth0:',
    'eth0:metered:',
    'eth0 up',
    'eth0 ;reboot',
    'a/b',
    'eth0\n',
    'eth0\0',
    'é',
    'a'.repeat(16),
    Array.from({ length: 9 }, (_, i) => `e${i}`).join()
  ])('refuses %j', (text) => {
    // White space around a path is not part of its name.
    const isFine = text.trim() === 'eth0';
    expect(code(() => checkPaths(text))).toBe(isFine ? 0 : 2);
  });
});

describe('--broker', () => {
  test.each([
    ['10.9.9.9:8883', '10.9.9.9', 8883],
    ['cloud.example:1883', 'cloud.example', 1883],
    ['mqtts://cloud.example', 'cloud.example', 8883],
    ['mqtt://cloud.example/x', 'cloud.example', 1883],
    ['wss://cloud.example:4433/mqtt', 'cloud.example', 4433]
  ])('%s', (text, host, port) => expect(checkBroker(text)).toEqual({ host, port }));

  test.each([
    '',
    'cloud',
    'cloud:0',
    'cloud:65536',
    'http://cloud',
    ':1883',
    'a b:1',
    '-:x',
    `${'a'.repeat(300)}:1`
  ])('refuses %j', (text) => expect(code(() => checkBroker(text))).toBe(2));
});

describe('the command line', () => {
  test('takes paths and broker from the environment of the gateway', () => {
    const env = { SEGANET_UPLINK_PATHS: 'eth0,wlan0', SEGANET_UPLINK_URL: 'mqtts://cloud.example' };
    expect(readArguments(['watch'], env).options).toMatchObject({
      paths: [{ target: 'eth0' }, { target: 'wlan0' }],
      broker: { host: 'cloud.example', port: 8883 },
      everyMs: 1000,
      timeoutMs: 700
    });
    expect(readArguments(['apply', '--paths', 'auto'], env).options).toMatchObject({
      paths: [],
      broker: null
    });
  });

  test.each([
    [[]],
    [['fly']],
    [['apply', '--broker', 'a:1']],
    [['watch', '--every', '249']],
    [['watch', '--timeout', '1e9']],
    [['check', '--state-dir', '']],
    [['undo', 'eth0']]
  ])('refuses %j', (args) => expect(code(() => readArguments(args, {}))).toBe(2));

  test('takes quality as advice only by default, with default limits', () => {
    expect(readArguments(['watch'], {}).options).toMatchObject({
      autoBackup: false,
      limits: {
        belowPercent: 40,
        lossPercent: 20,
        rttMs: Infinity,
        backupAfterMs: 10_000,
        activeAfterMs: 30_000,
        aheadMs: 0
      },
      signals: ''
    });
    const args = ['--auto-backup', '--backup-below', '0', '--backup-loss', '100', '--backup-rtt', '250'];
    const times = ['--backup-after', '1', '--active-after', '3600', '--backup-ahead', '3'];
    const more = ['--signals', '/run/modem'];
    expect(readArguments(['watch', ...args, ...times, ...more], {}).options).toMatchObject({
      autoBackup: true,
      signals: '/run/modem',
      limits: {
        belowPercent: 0,
        lossPercent: 100,
        rttMs: 250,
        backupAfterMs: 1000,
        activeAfterMs: 3_600_000,
        aheadMs: 3000
      }
    });
  });

  test.each([
    ['--backup-below', '91'],
    ['--backup-below', '-1'],
    ['--backup-below', '40%'],
    ['--backup-loss', '101'],
    ['--backup-rtt', '0'],
    ['--backup-rtt', '60001'],
    ['--backup-after', '0'],
    ['--backup-after', '601'],
    ['--backup-ahead', '11'],
    ['--backup-ahead', '-1'],
    ['--active-after', '0.5'],
    ['--active-after', '3601']
  ])('refuses %s %s', (name, value) => {
    expect(code(() => readArguments(['watch', name, value], {}))).toBe(2);
    expect(code(() => readArguments(['apply', name, '10'], {}))).toBe(2);
  });

  test('has help for each command', () => {
    for (const name of ['plan', 'apply', 'check', 'undo', 'watch']) {
      expect(readArguments([name, '--help']).text).toMatch(new RegExp(`^seganet-paths ${name} `));
    }
    expect(readArguments(['--help']).text).toContain('docs/use/paths.md');
  });
});
