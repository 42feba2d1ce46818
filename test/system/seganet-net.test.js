'use strict';
// seganet-net apply, check and undo on real interfaces, as a child process.

const fs = require('node:fs');
const path = require('node:path');
const { Lab } = require('../fixtures/network/net-lab');
const { needs } = require('../../bench/harness/tools');

// Creating a network needs root.
const { describe, test } = needs(
  ...['ip', 'tc', 'unshare', 'setpriv', 'python3'],
  ...(process.getuid?.() === 0 ? [] : ['root'])
);

jest.setTimeout(60000);

/** @type {Lab} */
let lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

const files = () => (fs.existsSync(lab.stateDir) ? fs.readdirSync(lab.stateDir) : []);

describe('apply, check and undo', () => {
  test.each([
    ['htb', ['--rate', '2mbit'], 'htb', ['urgent', 'normal', 'bulk']],
    ['tbf-pfifo_fast', ['--rate', '2mbit'], 'tbf-pfifo_fast', ['all']],
    ['pfifo_fast', [], 'pfifo_fast', ['all']]
  ])('%s', (scheme, rate, kind, bands) => {
    const before = lab.picture();
    expect(lab.check()).toMatchObject({ code: 1, ok: false, kind: 'noqueue', applied: null });
    const applied = lab.net('apply', '--scheme', scheme, ...rate);
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.out).toContain(`set up as ${scheme}`);
    const view = lab.check();
    expect(view).toMatchObject({ code: 0, ok: true, kind, asApplied: true, applied: { scheme } });
    expect(view.rate).toBe(rate.length > 0 ? 2e6 : 0);
    expect(view.bands.map((/** @type {{name: string}} */ band) => band.name)).toEqual(bands);
    expect(lab.net('check').out).toMatch(/up0: ok: .*\nUnchanged since apply: /);
    expect(lab.net('undo')).toMatchObject({
      code: 0,
      out: expect.stringContaining('restored to its state before apply')
    });
    expect(lab.picture()).toEqual(before);
    expect(files()).toEqual([]);
  });

  test('does nothing in a second apply with the same arguments, and keeps the counters', () => {
    lab.net('apply', '--rate', '2mbit');
    lab.send(lab.address, { tos: 0xb8 }, 1);
    expect(lab.net('apply', '--rate', '2mbit').out).toContain('Nothing to do');
    expect(lab.check().bands[0].packets).toBeGreaterThan(0);
    expect(JSON.parse(lab.net('apply', '--rate', '2mbit', '--json').out)).toMatchObject({ changed: false });
  });

  test('replaces the first with another rate or scheme, and undo returns to the state before both', () => {
    const before = lab.picture();
    lab.net('apply', '--rate', '2mbit');
    expect(lab.net('apply', '--rate', '31.31mbit')).toMatchObject({ code: 0 });
    expect(lab.check()).toMatchObject({ rate: 31310000, kind: 'htb', asApplied: true });
    expect(lab.net('apply', '--rate', '4mbit', '--scheme', 'tbf-pfifo_fast')).toMatchObject({ code: 0 });
    expect(lab.check()).toMatchObject({ rate: 4e6, kind: 'tbf-pfifo_fast', asApplied: true });
    expect(lab.picture()).toMatchObject({ gso: before.gso, txqlen: 33 });
    lab.net('undo');
    expect(lab.picture()).toEqual(before);
  });

  test('reports that there is nothing to undo, also a second time', () => {
    expect(lab.net('undo')).toMatchObject({ code: 0, out: 'up0: nothing to undo.\n' });
    lab.net('apply', '--rate', '2mbit');
    lab.net('undo');
    expect(lab.net('undo')).toMatchObject({ code: 0, out: 'up0: nothing to undo.\n' });
  });

  test('replaces the multi-queue root, names it, and restores it', () => {
    lab.run('ip', 'link', 'add', 'up1', 'numtxqueues', '4', 'type', 'ifb');
    lab.run('ip', 'link', 'set', 'up1', 'up');
    lab.interface = 'up1';
    const before = lab.picture();
    expect(before.qdisc).toBe('mq');
    expect(lab.check()).toMatchObject({ code: 1, kind: 'mq', ok: false });
    const applied = lab.net('apply', '--rate', '2mbit');
    expect(applied.err).toMatch(/4 transmit queues \(mq\)/);
    expect(lab.check()).toMatchObject({ code: 0, kind: 'htb' });
    lab.net('undo');
    expect(lab.picture()).toEqual(before);
  });

  test('changes nothing in plan, and names the commands that apply then runs', () => {
    const before = lab.picture();
    const plan = JSON.parse(lab.net('plan', '--rate', '2mbit', '--json').out);
    expect(lab.picture()).toEqual(before);
    expect(files()).toEqual([]);
    const applied = JSON.parse(lab.net('apply', '--rate', '2mbit', '--json').out);
    expect(applied.steps).toEqual(plan.steps);
    expect(lab.net('plan', '--rate', '2mbit').out).toMatch(/\n# undo:\n# {3}tc qdisc del dev up0 root/);
  });
});

describe('apply does not', () => {
  test('replace a foreign queue without permission', () => {
    lab.tc('qdisc', 'add', 'dev', 'up0', 'root', 'handle', '7:', 'pfifo', 'limit', '77');
    const before = lab.picture();
    expect(lab.net('apply', '--rate', '2mbit')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /'up0' already has a queue that seganet-net did not create, 'pfifo 7:'.*--force/
      )
    });
    expect(lab.picture()).toEqual(before);
    expect(lab.net('apply', '--rate', '2mbit', '--force')).toMatchObject({ code: 0 });
    lab.net('undo');
    expect(lab.picture()).toEqual(before);
  });

  test('claim that undo restores a manual queue with classes', () => {
    lab.tc(
      'qdisc',
      'add',
      'dev',
      'up0',
      'root',
      'handle',
      '7:',
      'tbf',
      'rate',
      '1mbit',
      'burst',
      '4k',
      'latency',
      '1s'
    );
    const applied = lab.net('apply', '--rate', '2mbit', '--force');
    expect(applied).toMatchObject({
      code: 0,
      err: expect.stringContaining("undo cannot restore 'tbf 7:'")
    });
    expect(lab.net('undo').err).toContain("'tbf 7:'");
  });

  test('replace its own set-up after a foreign change', () => {
    lab.net('apply', '--rate', '2mbit');
    lab.tc('class', 'change', 'dev', 'up0', 'classid', '1:30', 'htb', 'rate', '1mbit', 'prio', '7');
    expect(lab.check()).toMatchObject({ code: 0, ok: true, asApplied: false });
    expect(lab.net('check').out).toContain('Changed since apply');
    expect(lab.net('apply', '--rate', '3mbit')).toMatchObject({
      code: 1,
      err: expect.stringContaining('has changed since apply')
    });
    expect(lab.net('undo')).toMatchObject({ code: 0 });
    expect(lab.picture().qdisc).toBe('noqueue');
  });

  test('remove, by undo, a queue that came after it', () => {
    lab.net('apply', '--rate', '2mbit');
    lab.tc('qdisc', 'del', 'dev', 'up0', 'root');
    lab.tc('qdisc', 'add', 'dev', 'up0', 'root', 'handle', '7:', 'pfifo');
    expect(lab.net('undo').out).toContain(
      "the queue 'pfifo 7:' was set up after apply and was left unchanged"
    );
    expect(lab.picture()).toMatchObject({ qdisc: 'pfifo', gso: 65535 });
  });

  test('leave half of it when a command fails', () => {
    const before = lab.picture();
    const failed = lab.netWith({ env: lab.failingTc('filter add') }, 'apply', '--rate', '2mbit');
    expect(failed).toMatchObject({ code: 1, out: '' });
    expect(failed.err).toMatch(
      /'tc filter add dev up0 .* failed: no room\. Everything is as it was before\./
    );
    expect(lab.picture()).toEqual(before);
    expect(files()).toEqual([]);
  });

  test('lose the earlier set-up when a later one fails', () => {
    lab.net('apply', '--rate', '2mbit');
    const before = lab.picture();
    const env = lab.failingTc('handle 2: pfifo_fast');
    const args = ['--rate', '3mbit', '--scheme', 'tbf-pfifo_fast'];
    expect(lab.netWith({ env }, 'apply', ...args)).toMatchObject({ code: 1 });
    expect(lab.picture()).toEqual(before);
    expect(lab.check()).toMatchObject({ code: 0, rate: 2e6, asApplied: true });
  });

  test('leave an interface without a way back when it is killed', () => {
    const before = lab.picture();
    const env = lab.failingTc('filter add', 'kill -9 $PPID; exit 2');
    lab.netWith({ env }, 'apply', '--rate', '2mbit');
    expect(lab.picture().qdisc).toBe('htb');
    expect(lab.check()).toMatchObject({ code: 1, ok: false, asApplied: false });
    expect(lab.net('apply', '--rate', '3mbit')).toMatchObject({ code: 0 });
    expect(lab.net('undo')).toMatchObject({ code: 0 });
    expect(lab.picture()).toEqual(before);
    expect(files()).toEqual([]);
  });
});

describe('a user without the right to change the interface', () => {
  /** Runs as the user nobody, who may read the script and the Node only where its owner allows it. */
  const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

  test.each(['apply', 'undo'])('gets the missing requirement from %s', (command) => {
    expect(lab.netWith({ as: nobody }, command)).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(
        /requires root or CAP_NET_ADMIN\. Run it with sudo, or .*AmbientCapabilities/
      )
    });
  });

  test('needs only CAP_NET_ADMIN, except for filters by SO_PRIORITY', () => {
    fs.mkdirSync(lab.stateDir);
    fs.chownSync(lab.stateDir, 65534, 65534);
    fs.chmodSync(path.dirname(lab.stateDir), 0o755);
    const before = lab.picture();
    const admin = [...nobody, '--inh-caps', '+net_admin', '--ambient-caps', '+net_admin'];
    expect(lab.netWith({ as: admin }, 'apply', '--rate', '2mbit')).toMatchObject({
      code: 0,
      err: expect.stringContaining('only DSCP selects bands')
    });
    const { code, out } = lab.netWith({ as: admin }, 'check', '--json');
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, kind: 'htb', asApplied: true });
    // What this user could change, root does not believe.
    expect(lab.net('check')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^seganet-net: Root must not keep its state in .*, which user 65534 could/)
    });
    expect(lab.netWith({ as: admin }, 'undo')).toMatchObject({ code: 0 });
    expect(lab.picture()).toEqual(before);
  });

  test('may plan and check', () => {
    lab.net('apply', '--rate', '2mbit');
    expect(lab.netWith({ as: nobody }, 'check')).toMatchObject({ code: 0 });
    expect(lab.netWith({ as: nobody }, 'plan', '--rate', '3mbit')).toMatchObject({ code: 0 });
  });
});

describe('several concurrent calls', () => {
  test('run in sequence, or one of them is refused: the result is that of the last one', async () => {
    const before = lab.picture();
    const codes = await Promise.all(
      ['2mbit', '3mbit', '4mbit'].map((rate) => lab.start('apply', '--rate', rate))
    );
    expect(codes).toContain(0);
    for (const code of codes) expect([0, 3]).toContain(code);
    expect(lab.check()).toMatchObject({ code: 0, kind: 'htb', asApplied: true });
    lab.net('undo');
    expect(lab.picture()).toEqual(before);
  });

  test('are refused under a lock while its owner lives, and take it when the owner is dead', () => {
    fs.mkdirSync(lab.stateDir);
    const file = path.join(lab.stateDir, 'up0.lock');
    fs.writeFileSync(file, String(process.pid));
    expect(lab.net('apply', '--rate', '2mbit')).toMatchObject({
      code: 3,
      err: expect.stringContaining(`Another seganet-net (process ${process.pid})`)
    });
    fs.writeFileSync(file, '');
    expect(lab.net('apply', '--rate', '2mbit')).toMatchObject({ code: 0 });
    expect(fs.existsSync(file)).toBe(false);
  });
});

describe('unusable environments', () => {
  test('are an interface that does not exist, loopback, no tc', () => {
    lab.interface = 'nope0';
    expect(lab.net('check')).toMatchObject({ code: 3, err: expect.stringContaining("no interface 'nope0'") });
    lab.interface = 'lo';
    expect(lab.net('apply', '--rate', '2mbit')).toMatchObject({
      code: 2,
      err: expect.stringContaining('loopback')
    });
  });

  test('include a foreign state file', () => {
    lab.net('apply', '--rate', '2mbit');
    const file = path.join(lab.stateDir, 'up0.json');
    for (const text of ['', '{', 'null', '[]', '{"version":1}', '\0']) {
      fs.writeFileSync(file, text);
      for (const command of ['check', 'undo']) {
        expect(lab.net(command)).toMatchObject({
          code: 3,
          err: expect.stringMatching(/up0\.json was not written by .* Remove it/)
        });
      }
    }
  });
});
