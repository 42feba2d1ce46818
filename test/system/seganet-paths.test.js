'use strict';
// seganet-paths on real interfaces, as a child process, with real MPTCP connections.

const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { PathHints } = require('../../nodes/lib/uplink/paths/path-hints');
const { eventually } = require('../../bench/harness/net');
const { PathsLab, ip } = require('../fixtures/network/paths-lab');
const { needs } = require('../../bench/harness/tools');
const { PATIENCE } = require('../../bench/harness/patience');

const { describe, test } = needs(
  ...['ip', 'nft', 'setpriv', 'python3'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

jest.setTimeout(30000);

const PATHS = ['--paths', 'p1,p2:backup'];
const BOTH = ['198.18.1.1 id 231 subflow dev p1', '198.18.2.1 id 232 subflow backup dev p2'];

/** @type {PathsLab} */
let lab;
beforeEach(() => {
  lab = new PathsLab();
});
afterEach(() => lab.remove());

const files = () => (fs.existsSync(lab.stateDir) ? fs.readdirSync(lab.stateDir) : []);
const until = (/** @type {string[]} */ wanted, /** @type {number} */ timeoutMs) =>
  eventually(() => lab.endpoints().sort().join() === wanted.join(), {
    timeoutMs,
    what: `endpoints ${wanted.join()}`
  });

describe('apply, check and undo', () => {
  test('makes in apply the state that plan prints, does nothing when repeated, and leaves no trace after undo', () => {
    const before = lab.picture();
    const plan = JSON.parse(lab.paths('plan', '--json', ...PATHS).out);
    expect(lab.picture()).toBe(before);
    expect(files()).toEqual([]);
    expect(lab.paths('check', ...PATHS)).toMatchObject({
      code: 1,
      out: expect.stringContaining('apply would make these changes')
    });

    const applied = JSON.parse(lab.paths('apply', '--json', ...PATHS).out);
    expect(applied).toMatchObject({ changed: true, steps: plan.steps });
    expect(lab.endpoints()).toEqual(BOTH);
    expect(lab.run('ip', 'rule')).toMatch(
      /27101:\tfrom 198\.18\.1\.1 lookup main suppress_prefixlength 0 .*\n[^]*27112:\tfrom 198\.18\.2\.1 lookup 27102/
    );
    expect(lab.run('ip', 'route', 'show', 'table', '27102')).toBe(
      'default via 198.18.2.2 dev p2 proto 177 src 198.18.2.1 \n198.18.2.0/24 dev p2 proto 177 scope link src 198.18.2.1 \n'
    );
    expect(lab.run('ip', 'route', 'get', lab.broker, 'from', '198.18.2.1')).toContain(
      'via 198.18.2.2 dev p2'
    );
    expect(lab.run('cat', '/proc/sys/net/mptcp/stale_loss_cnt')).toBe('1\n');

    const made = lab.picture();
    expect(lab.paths('apply', ...PATHS)).toMatchObject({
      code: 0,
      out: expect.stringContaining('Nothing to do')
    });
    expect(lab.picture()).toBe(made);
    expect(lab.paths('check', ...PATHS)).toMatchObject({ code: 0, out: expect.stringContaining('ok: ') });
    expect(lab.paths('undo')).toMatchObject({ code: 0 });
    expect(lab.picture()).toBe(before);
    expect(files()).toEqual([]);
    expect(lab.paths('undo')).toMatchObject({ code: 0, out: 'Nothing to undo.\n' });
  });

  test('undoes without the file, except settings, with a message; foreign settings stay', () => {
    ip('-n', lab.gateway, 'rule', 'add', 'pref', '27105', 'from', '198.18.1.1', 'lookup', '77');
    ip('-n', lab.gateway, 'mptcp', 'endpoint', 'add', '198.18.7.7', 'id', '7', 'signal');
    const before = lab.picture();
    lab.paths('apply', '--paths', 'auto');
    for (const file of files()) fs.rmSync(path.join(lab.stateDir, file));
    expect(lab.paths('undo').err).toContain('the file of apply is missing');
    const settings = /^(stale_loss_cnt|close_timeout|blackhole_timeout) .*\n/gm;
    expect(lab.picture().replace(settings, '')).toBe(before.replace(settings, ''));
  });

  test('names a foreign change in check, and undo leaves a setting that it no longer owns', () => {
    lab.paths('apply', ...PATHS);
    ip('-n', lab.gateway, 'mptcp', 'endpoint', 'delete', 'id', '232');
    lab.run('sh', '-c', 'echo 3 > /proc/sys/net/mptcp/stale_loss_cnt');
    const { steps } = JSON.parse(lab.paths('check', '--json', ...PATHS).out);
    expect(steps.map((/** @type {any} */ { command }) => command.join(' '))).toEqual([
      'sysctl -w net.mptcp.stale_loss_cnt=1',
      'ip mptcp endpoint add 198.18.2.1 dev p2 id 232 subflow backup'
    ]);
    expect(lab.paths('undo').out).toContain('Left alone: net.mptcp.stale_loss_cnt is 3');
  });

  test('changes a role by a flag of the endpoint, and recreates it where ip cannot change that', () => {
    lab.paths('apply', ...PATHS);
    const change = ['ip mptcp endpoint change id 231 backup', 'ip mptcp endpoint change id 232 nobackup'];
    const { steps } = JSON.parse(lab.paths('plan', '--json', '--paths', 'p1:backup,p2').out);
    expect(steps.map((/** @type {any} */ { command }) => command.join(' '))).toEqual(change);
    expect(lab.paths('apply', '--paths', 'p1:backup,p2')).toMatchObject({ code: 0, err: '' });
    const swapped = ['198.18.1.1 id 231 subflow backup dev p1', '198.18.2.1 id 232 subflow dev p2'];
    expect(lab.endpoints()).toEqual(swapped);

    const folder = path.join(lab.folder, 'bin');
    fs.mkdirSync(folder);
    const old = `for word; do [ "$word" = change ] && exit 255; done\nPATH=${process.env.PATH} exec ip "$@"`;
    fs.writeFileSync(path.join(folder, 'ip'), `#!/bin/sh\n${old}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}` };
    expect(lab.pathsWith({ env }, 'apply', ...PATHS)).toMatchObject({ code: 0, err: '' });
    expect(lab.endpoints().sort()).toEqual(BOTH);
  });
});

describe('it does not', () => {
  test('take a foreign endpoint', () => {
    ip('-n', lab.gateway, 'mptcp', 'endpoint', 'add', '198.18.1.1', 'dev', 'p1', 'id', '3', 'subflow');
    const before = lab.picture();
    expect(lab.paths('apply', ...PATHS)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/endpoint 3 .*--force/)
    });
    expect(lab.picture()).toBe(before);
    expect(lab.paths('apply', '--force', ...PATHS)).toMatchObject({ code: 0 });
    expect(lab.endpoints()).toEqual(['198.18.1.1 id 3 subflow dev p1', BOTH[1]]);
    lab.paths('undo');
    expect(lab.picture()).toBe(before);
  });

  test('work against NetworkManager', () => {
    const uuid = '01234567-89ab-cdef-0123-456789abcdef';
    const folder = path.join(lab.folder, 'bin');
    fs.mkdirSync(folder);
    const answers = `case "$*" in *RUNNING*) echo running;; *mptcp-flags*) echo "$FLAGS";; *) echo ${uuid}:p1;; esac`;
    fs.writeFileSync(path.join(folder, 'nmcli'), `#!/bin/sh\n${answers}\n`, { mode: 0o755 });
    const PATH = `${folder}:${process.env.PATH}`;
    const stands = lab.pathsWith(
      { env: { PATH, FLAGS: 'connection.mptcp-flags:0x0 (default)' } },
      'apply',
      ...PATHS
    );
    expect(stands).toMatchObject({
      code: 1,
      err: expect.stringContaining('NetworkManager manages the MPTCP endpoints of p1')
    });
    expect(lab.endpoints()).toEqual([]);
    const flags = { PATH, FLAGS: 'connection.mptcp-flags:0x1 (disabled)' };
    expect(lab.pathsWith({ env: flags }, 'apply', ...PATHS)).toMatchObject({ code: 0 });
  });

  test('do more than CAP_NET_ADMIN allows, or work without it', () => {
    const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
    for (const command of ['apply', 'undo', 'watch']) {
      expect(lab.pathsWith({ as: nobody }, command)).toMatchObject({
        code: 3,
        out: '',
        err: expect.stringMatching(
          /requires root or CAP_NET_ADMIN\. Run it with sudo, or .*AmbientCapabilities/
        )
      });
    }
    fs.mkdirSync(lab.stateDir);
    fs.chownSync(lab.stateDir, 65534, 65534);
    fs.chmodSync(lab.folder, 0o755);
    const before = lab.picture();
    const admin = [...nobody, '--inh-caps', '+net_admin', '--ambient-caps', '+net_admin'];
    expect(lab.pathsWith({ as: admin }, 'apply', ...PATHS)).toMatchObject({ code: 0, err: '' });
    expect(lab.pathsWith({ as: nobody }, 'check', ...PATHS)).toMatchObject({ code: 0 });
    expect(lab.pathsWith({ as: admin }, 'undo')).toMatchObject({ code: 0 });
    expect(lab.picture()).toBe(before);
  });
});

describe('watch', () => {
  test('follows with routes and endpoint when the link goes down at the gateway, and the address changes', async () => {
    const before = lab.picture();
    await lab.listen();
    const { child, log } = await lab.watch(...PATHS);
    await until(BOTH, 1000); // a path is reported as up before its endpoint exists
    expect(lab.paths('check', ...PATHS)).toMatchObject({ code: 0 });
    expect(lab.paths('undo')).toMatchObject({
      code: 3,
      err: expect.stringContaining("If it is 'watch', stop it first")
    });

    ip('-n', lab.gateway, 'link', 'set', 'p2', 'down');
    await until([BOTH[0]], 1000);
    await eventually(() => lab.status().paths[1].state === 'down');
    expect(lab.status().paths[1]).toMatchObject({
      name: 'p2',
      role: 'backup',
      why: 'the link is down',
      endpointId: 0
    });
    expect(lab.paths('check', ...PATHS)).toMatchObject({
      code: 1,
      out: expect.stringContaining('p2: down since')
    });
    ip('-n', lab.gateway, 'link', 'set', 'p2', 'up');
    await until(BOTH, 3000);
    expect(lab.run('ip', 'route', 'show', 'table', '27102')).toContain('default via 198.18.2.2');

    ip('-n', lab.gateway, 'addr', 'add', '198.18.2.77/24', 'dev', 'p2');
    ip('-n', lab.gateway, 'addr', 'del', '198.18.2.1/24', 'dev', 'p2');
    // The kernel drops it with the first address; DHCP makes both again.
    ip('-n', lab.gateway, 'addr', 'replace', '198.18.2.77/24', 'dev', 'p2');
    lab.mainRoute(2);
    await until([BOTH[0], '198.18.2.77 id 232 subflow backup dev p2'], 4000);
    expect(lab.run('ip', 'rule')).toMatch(/from 198\.18\.2\.77 lookup 27102/);
    expect(lab.run('ip', 'rule')).not.toContain('198.18.2.1 ');

    const made = lab.picture();
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(lab.picture()).toBe(made);
    expect(files().filter((name) => !name.startsWith('state-'))).toEqual([]);
    expect(log.filter(({ path: name }) => name === 'p1').map(({ state }) => state)).toEqual([
      'probing',
      'up'
    ]);
    lab.paths('undo');
    ip('-n', lab.gateway, 'addr', 'del', '198.18.2.77/24', 'dev', 'p2');
    ip('-n', lab.gateway, 'addr', 'add', '198.18.2.1/24', 'dev', 'p2');
    lab.mainRoute(2);
    expect(lab.picture()).toBe(before);
  });

  test('leaves a silently dead path in about 2 s; its connection survives, and uses it again afterwards', async () => {
    const receiver = await lab.listen();
    const { log } = await lab.watch(...PATHS);
    const [sent, [reported]] = await Promise.all([
      lab.send(7),
      once(receiver.stdout, 'data'),
      (async () => {
        await eventually(() => lab.run('ss', '-Htn', 'state', 'established').includes('198.18.2.1'), {
          what: 'the second subflow'
        });
        lab.swallow(1);
        await until([BOTH[1]], 4500);
        lab.heal();
        await until(BOTH, 3000);
      })()
    ]);
    const { received, silenceS } = JSON.parse(reported);
    expect(sent.error).toBe('');
    expect(received).toBe(sent.sent);
    expect(silenceS).toBeLessThan(4 * PATIENCE);
    expect(log.filter(({ path: name }) => name === 'p1').map(({ state }) => state)).toEqual([
      ...['probing', 'up'],
      ...['down', 'probing', 'up']
    ]);
    expect(log.find(({ state }) => state === 'down')?.why).toBe(
      '198.18.9.9 port 7000 did not answer in 700 ms'
    );
  });

  test('probes a path at once that the uplink reports as silent, and leaves it only without an answer', async () => {
    await lab.listen();
    const { child, log } = await lab.watch(...PATHS);
    const socket = String(files().find((file) => file.startsWith('hint-')));
    const hint = () => new PathHints({ file: path.join(lab.stateDir, socket) }).suspect('198.18.1.1', 0);
    hint();
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(log.filter(({ state }) => state === 'down')).toEqual([]);
    lab.swallow(1);
    hint();
    await until([BOTH[1]], 3000);
    expect(log.find(({ state }) => state === 'down')?.why).toMatch(/did not answer in [1-4]\d\d ms$/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(files()).toContain(socket);
    lab.paths('undo');
    expect(files()).toEqual([]);
  });

  test('waits with auto for the first default route, and takes the paths that appear', async () => {
    for (const i of ['1', '2']) ip('-n', lab.gateway, 'route', 'del', 'default', 'dev', `p${i}`);
    await lab.listen();
    setTimeout(() => [1, 2].forEach((i) => lab.mainRoute(i)), 1000);
    const { log } = await lab.watch('--paths', 'auto');
    expect(log[0]).toMatchObject({ path: '', state: 'waiting', why: 'there is no default route yet' });
    await until([BOTH[0], BOTH[1].replace(' backup', '')], 2000);
  });

  test('sends probes with SO_PRIORITY 6 from their own interface', async () => {
    const count =
      'table ip probes { chain out { type filter hook output priority 0; meta priority 6 tcp flags syn ip saddr 198.18.2.1 oifname p2 counter; }; }';
    fs.writeFileSync(path.join(lab.folder, 'rules'), count);
    lab.run('nft', '-f', path.join(lab.folder, 'rules'));
    await lab.listen();
    await lab.watch(...PATHS);
    expect(lab.run('nft', 'list', 'table', 'ip', 'probes')).toMatch(/counter packets [1-9]/);
  });
});
