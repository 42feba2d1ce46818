'use strict';
// The quality of paths, and roles by it, with real endpoints and a real MPTCP connection.

const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { eventually } = require('../../bench/harness/net');
const { PathsLab } = require('../fixtures/network/paths-lab');
const { needs } = require('../../bench/harness/tools');

const { test } = needs(
  ...['ip', 'nft', 'nstat', 'python3'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

jest.setTimeout(60000);

const ACTIVE = ['198.18.1.1 id 231 subflow dev p1', '198.18.2.1 id 232 subflow dev p2'];
const DEMOTED = ['198.18.1.1 id 231 subflow backup dev p1', ACTIVE[1]];

/** @type {PathsLab} */
let lab;
beforeEach(() => {
  lab = new PathsLab();
});
afterEach(() => lab.remove());

const until = (/** @type {string[]} */ wanted) =>
  eventually(() => lab.endpoints().sort().join() === wanted.join(), {
    timeoutMs: 12000,
    what: `endpoints ${wanted.join()}`
  });

/** Counts outgoing packets by p1 that are not probes. @returns {() => number} packets */
function countPayload() {
  const rules =
    'table ip payload { chain out { type filter hook output priority 0; oifname "p1" meta length > 200 counter; }; }';
  fs.writeFileSync(path.join(lab.folder, 'rules'), rules);
  lab.run('nft', '-f', path.join(lab.folder, 'rules'));
  return () => Number(/counter packets (\d+)/.exec(lab.run('nft', 'list', 'table', 'ip', 'payload'))?.[1]);
}

test('makes a path that loses every third probe backup, without payload, and active again after it has healed', async () => {
  const carried = countPayload();
  const receiver = await lab.listen();
  const often = ['--every', '250', '--backup-after', '1', '--active-after', '1'];
  const { child, log } = await lab.watch('--paths', 'p1,p2', '--auto-backup', ...often);
  const [sent, [reported]] = await Promise.all([
    lab.send(40),
    once(receiver.stdout, 'data'),
    (async () => {
      await eventually(() => carried() > 50, { what: 'payload by p1' });
      lab.loseThird(1);
      await until(DEMOTED);
      expect(lab.paths('check', '--paths', 'p1,p2').out).toMatch(
        /p1: round trip .* ms, \d+ % of probes lost, out .*\/s, in .*\/s\np1: backup because of its quality: \d+ % of the probes/
      );
      // In-flight data are retransmitted by the same path.
      let before = carried();
      await eventually(() => before === (before = carried()), {
        everyMs: 1000,
        what: 'a second without payload by p1'
      });
      lab.heal();
      await until(ACTIVE);
      await eventually(() => carried() > before + 10, { what: 'payload by p1 again' });
      lab.stopSending();
    })()
  ]);
  const { received } = JSON.parse(reported);
  expect(sent.error).toBe('');
  expect(received).toBe(sent.sent);
  // The broker was notified twice, and no subflow was joined again.
  expect(lab.run('nstat', '-asz', 'MPTcpExtMPPrioTx')).toMatch(/MPPrioTx +2 /);
  expect(lab.run('nstat', '-asz', 'MPTcpExtMPJoinSynAckRx')).toMatch(/MPJoinSynAckRx +1 /);
  expect(log.filter(({ path: name }) => name === 'p1').map(({ state }) => state)).toEqual([
    ...['probing', 'up'],
    ...['backup', 'active']
  ]);
  expect(lab.status().paths[0]).toMatchObject({
    role: 'active',
    actingRole: 'active',
    advice: 'active',
    adviceWhy: 'good for 1 s',
    quality: {
      signalDbm: null,
      linkPercent: null,
      rttMs: expect.any(Number),
      lossPercent: expect.any(Number)
    }
  });
  child.kill('SIGTERM');
  await once(child, 'exit');
});

test('makes a path backup before its signal is too weak, by the trend of a file of signals', async () => {
  const file = path.join(lab.folder, 'wireless');
  // A reader finds the old or the new file.
  const levels = (/** @type {number} */ dbm) => {
    fs.writeFileSync(
      `${file}.new`,
      `title\ntitle\n    p1: 0000 70. ${dbm}. -256\n    p2: 0000 70. -50. -256\n`
    );
    fs.renameSync(`${file}.new`, file);
  };
  levels(-50);
  const quick = ['--every', '250', '--backup-after', '1', '--backup-ahead', '6', '--signals', file];
  const { child, log } = await lab.watch('--paths', 'p1,p2', '--auto-backup', ...quick);
  await until(ACTIVE);
  // It never reaches -82 dBm, which are 40 %: without a trend the path would stay active.
  let dbm = -50;
  const falls = setInterval(() => levels(Math.max(-79, (dbm -= 1))), 350);
  try {
    await until(DEMOTED);
  } finally {
    clearInterval(falls);
  }
  // The endpoint changes before the line is written.
  const line = () => log.find(({ state }) => state === 'backup');
  await eventually(() => Boolean(line()), { what: 'the line of the change' });
  expect(line()?.why).toMatch(/^link quality of \d\d % \(-\d\d dBm\) falls, and will be below 40 % in 6 s$/);
  child.kill('SIGTERM');
  await once(child, 'exit');
});
