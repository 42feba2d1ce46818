'use strict';
// A short form of test/system/orphans/run.js: whoever starts a process ends it, also when it is killed itself.

const { roundsOf } = require('./orphans/run');
const { runRound } = require('./orphans/round');

jest.setTimeout(120_000);

test.each(
  /** @type {const} */ ([
    // As from timeout(1) and terminals: each process gets the signal, and npm and the launcher pass it on.
    ['tenants', 'SIGTERM', 'group'],
    // Nobody is left who could end the tenants, which have sessions of their own.
    ['tenants', 'SIGKILL', 'group'],
    ['start', 'SIGKILL', 'top']
  ])
)('npm %s leaves no process after %s to its %s', async (command, signal, victim) => {
  const { left, files } = await runRound({ command, signal, atMs: -1, victim });
  expect(left).toEqual([]);
  if (signal !== 'SIGKILL') expect(files).toEqual([]);
});

test('reads its options', () => {
  expect(roundsOf(['--help'])).toBeNull();
  expect(
    roundsOf(['--commands', 'cloud', '--signals', 'SIGINT', '--moments', '5,ready', '--to', 'top'])
  ).toEqual([
    { command: 'cloud', signal: 'SIGINT', atMs: 5, victim: 'top' },
    { command: 'cloud', signal: 'SIGINT', atMs: -1, victim: 'top' }
  ]);
  const any = ['--any', '2', '--seed', '7'];
  expect(roundsOf(any)).toEqual(roundsOf(any));
  expect(roundsOf(['--commands', 'tenants', ...any])).toHaveLength(2);
  for (const wrong of [['--signals', 'SIGFOO'], ['--moments', 'soon'], ['--any', '-1'], ['--x']])
    expect(() => roundsOf(wrong)).toThrow();
});
