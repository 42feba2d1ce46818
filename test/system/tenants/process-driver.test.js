'use strict';
// Tenants as processes: the suite of all drivers, and what only processes can get wrong.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { ProcessDriver } = require('../../../docker/tenants/lib/drivers/process');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { limiterOf } = require('../../../docker/tenants/lib/drivers/process-limits');
const programs = require('../../fixtures/tenants/attacks/programs');
const { runIn } = require('../../fixtures/tenants/container-tenants');
const { ask, driverSuite } = require('../../fixtures/tenants/driver-suite');
const { untilAccepts } = require('../../../docker/tenants/lib/life/readiness');

const PROGRAM = path.join(__dirname, '..', '..', 'fixtures', 'tenants', 'tenant.js');

/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-tenants-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const homeOf = () => ({ volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') });
const open = () => new ProcessDriver(homeOf());
/** @param {string[]} args */
const entry = (args) => ({ driver: 'process', command: [process.execPath, PROGRAM, ...args] });

driverSuite('the driver process', describe, () => ({ open, entry }));

describe('a process', () => {
  const spec = checkTenant({ name: 'acme', http: 8080, ...entry([]) });
  /** @type {ProcessDriver} */
  let driver;
  beforeEach(() => {
    driver = open();
  });
  afterEach(async () => {
    await driver.stop(spec, 100);
    driver.close();
  });

  async function started() {
    await driver.create(spec);
    await driver.start(spec);
    const host = await driver.address(spec);
    await untilAccepts({ host, port: 8080, login: null }, AbortSignal.timeout(20_000));
    return host;
  }

  test('is found without its state file, which a killed keeper did not write', async () => {
    const host = await started();
    fs.rmSync(path.join(folder, 'state', 'acme', 'process.json'));
    const other = open();
    expect((await other.inspect(spec)).state).toBe('running');
    await other.stop(spec, 5000);
    await expect(ask(host, 'hello')).rejects.toThrow('ECONNREFUSED');
    other.close();
  });

  test('is not mistaken for another process with its number', async () => {
    await started();
    const file = path.join(folder, 'state', 'acme', 'process.json');
    const identity = JSON.parse(fs.readFileSync(file, 'utf8'));
    await driver.stop(spec, 5000);
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    try {
      fs.writeFileSync(file, JSON.stringify({ ...identity, pid: stranger.pid }));
      const other = open();
      expect(await other.inspect(spec)).toEqual({
        state: 'stopped',
        reason: 'ended while the keeper did not run'
      });
      await other.stop(spec, 100);
      other.close();
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  test('does not start where another program listens', async () => {
    const host = await driver.address(spec);
    const server = net.createServer((socket) => socket.destroy());
    await new Promise((resolve) => server.listen(1883, host, () => resolve(undefined)));
    await driver.create(spec);
    await expect(driver.start(spec)).rejects.toThrow(`another program listens on ${host}:1883`);
    await new Promise((resolve) => server.close(resolve));
  });

  test('that takes no notice of the signal is killed after its grace', async () => {
    const deaf = checkTenant({
      ...spec,
      image: undefined,
      template: undefined,
      command: ['sh', '-c', `trap '' TERM; ${process.execPath} ${PROGRAM}; while :; do sleep 1; done`]
    });
    await driver.create(deaf);
    await driver.start(deaf);
    await eventually(async () => (await driver.logs(deaf, 5)).includes('starts'));
    const before = performance.now();
    await driver.stop(deaf, 300);
    expect(performance.now() - before).toBeGreaterThan(290);
    expect((await driver.inspect(deaf)).state).toBe('stopped');
  });

  test('a program that does not exist fails the start, or ends at once with the reason in its output', async () => {
    const missing = checkTenant({
      ...spec,
      image: undefined,
      template: undefined,
      command: ['/does/not/exist']
    });
    await driver.create(missing);
    const reason = await driver.start(missing).then(
      async () => {
        await driver.ended(missing, new AbortController().signal);
        return driver.logs(missing, 3);
      },
      (error) => error.message
    );
    expect(reason).toMatch(/exist|ENOENT|No such file/);
  });

  test('cannot take more memory than it may', async () => {
    const small = checkTenant({ ...spec, image: undefined, template: undefined, limits: { memoryMiB: 128 } });
    await driver.create(small);
    await driver.start(small);
    const host = await driver.address(small);
    await untilAccepts({ host, port: 8080, login: null }, AbortSignal.timeout(20_000));
    expect(await ask(host, 'eat/30')).toBe(30);
    const ended = driver.ended(small, new AbortController().signal);
    ask(host, 'eat/300').catch(() => {});
    expect(await ended).toEqual({ reason: 'was killed because it used more than 128 MiB of memory' });
  });

  needs('cc').test('whose first thread has ended counts with its memory, and can be paused', async () => {
    const program = path.join(folder, 'first-thread-ends');
    const source = path.join(__dirname, '../../fixtures/tenants/first-thread-ends.c');
    execFileSync('cc', ['-pthread', '-o', program, source]);
    const limits = { memoryMiB: 128 };
    const headless = checkTenant({
      ...spec,
      image: undefined,
      template: undefined,
      command: [program, '50'],
      limits
    });
    await driver.create(headless);
    await driver.start(headless);
    await eventually(async () => (await driver.logs(headless, 5)).includes('holds'));
    const { pid } = JSON.parse(fs.readFileSync(path.join(folder, 'state', 'acme', 'process.json'), 'utf8'));
    expect(fs.readFileSync(`/proc/${pid}/statm`, 'utf8')).toMatch(/^0 0 /);

    await eventually(async () => (await driver.memory(headless)) >= 50 << 20);
    await driver.pause(headless);
    expect((await driver.inspect(headless)).state).toBe('paused');
    await driver.unpause(headless);
    await eventually(async () => (await driver.inspect(headless)).state === 'running');
    // A keeper that has lost the file finds it by its environment.
    fs.rmSync(path.join(folder, 'state', 'acme', 'process.json'));
    const other = open();
    expect((await other.inspect(headless)).state).toBe('running');
    other.close();

    await driver.stop(headless, 5000);
    await driver.create({ ...headless, command: [program, '300'] });
    await driver.start({ ...headless, command: [program, '300'] });
    expect(await driver.ended(headless, new AbortController().signal)).toEqual({
      reason: 'was killed because it used more than 128 MiB of memory'
    });
  });

  test('cannot hide data in a file that it has deleted', async () => {
    const host = await started();
    const fd = await runIn(host, programs.hide, path.join(folder, 'volumes', 'acme', 'hidden'), 5);
    expect(await driver.dataBytes(spec)).toBeGreaterThanOrEqual(5 << 20);
    await runIn(host, programs.release, fd);
    expect(await driver.dataBytes(spec)).toBeLessThan(5 << 20);
  });

  test('keeps at most two files of output, also while it runs', async () => {
    const host = await started();
    const file = path.join(folder, 'state', 'acme', 'output.log');
    await ask(host, 'print/before');
    fs.appendFileSync(file, `${'x'.repeat(1000)}\n`.repeat(4400));
    await driver.stop(spec, 5000);
    await started();
    await ask(host, 'print/after');
    expect(fs.statSync(file).size).toBeLessThan(1 << 20);
    expect(fs.statSync(`${file}.1`).size).toBeLessThanOrEqual(1 << 20);
    await eventually(async () => (await driver.logs(spec, 1)) === 'after');
    fs.appendFileSync(file, `${'x'.repeat(1000)}\n`.repeat(4400));
    await eventually(() => fs.statSync(file).size < 1 << 20);
  });
});

describe('with systemd', () => {
  const acme = checkTenant({ name: 'acme', driver: 'process', limits: { cpus: 0.5 } });
  /** A systemd-run that runs the command if it finds a bus. @returns {NodeJS.ProcessEnv} */
  function fakeSystemd(test = 'true') {
    const bin = path.join(folder, 'bin');
    fs.mkdirSync(bin);
    const script = `#!/bin/sh
${test} || { echo 'Failed to connect to bus: No medium found' >&2; exit 1; }
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
`;
    fs.writeFileSync(path.join(bin, 'systemd-run'), script, { mode: 0o755 });
    return { PATH: `${bin}:${process.env.PATH}` };
  }
  const NEEDS_BUS = '[ "$XDG_RUNTIME_DIR$DBUS_SESSION_BUS_ADDRESS" = /run/meunix:path=/run/me/bus ]';
  const BUS = { XDG_RUNTIME_DIR: '/run/me', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/me/bus' };

  test('starts a tenant in a scope with limits', () => {
    const limiter = limiterOf({ unit: 'seganet-tenant-x', hasSystemd: true, env: fakeSystemd(), uid: 0 });
    const words = limiter.words(acme, '/dev/sda');
    expect(limiter).toMatchObject({ kind: 'systemd', problem: '', env: {} });
    expect(words).toEqual(
      expect.arrayContaining([
        '--system',
        '--scope',
        '--property=MemoryMax=256M',
        '--property=CPUQuota=50%',
        '--property=TasksMax=128',
        `--property=IOWriteBandwidthMax=/dev/sda ${32 << 20}`,
        '--core=0'
      ])
    );
    expect(words.at(-1)).toBe('--');
    const unlimited = { ...acme, limits: { ...acme.limits, writeMiBps: 0 } };
    for (const [spec, disk] of /** @type {const} */ ([
      [acme, ''],
      [unlimited, '/dev/sda']
    ]))
      // prettier-ignore
      expect(limiter.words(spec, disk).join(' ')).not.toContain('IOWriteBandwidthMax');
  });

  test('gives a spare the same limits later', () => {
    const env = fakeSystemd();
    const limiter = limiterOf({ unit: 'seganet-tenant-x', hasSystemd: true, env, uid: 0 });
    const spare = limiter.spare('12ab');
    expect(spare).toContain('--unit=seganet-tenant-x.12ab.scope');
    expect(spare.join(' ')).not.toContain('--property');
    const [scope, files] = limiter.limits(acme, '/dev/sda', { pid: 123, id: '12ab' });
    const words = limiter.words(acme, '/dev/sda').join(' ');
    const at = scope.indexOf('seganet-tenant-x.12ab.scope');
    expect(scope.slice(1, at)).toEqual(['--system', 'set-property', '--runtime']);
    const properties = scope.slice(at + 1);
    expect(properties).toHaveLength(5);
    for (const each of properties) expect(words).toContain(`--property=${each}`);
    expect(files.slice(1)).toEqual(['--pid=123', '--core=0', '--nofile=4096']);
    const user = limiterOf({ unit: 'x', hasSystemd: true, env, uid: 1000 });
    expect(user.limits(acme, '', { pid: 123, id: '12ab' })[0]).toContain('--user');
    expect(user.spare('12ab')).toContain('--user');
  });

  test('passes the address of the bus to systemd-run, and not to the tenant', async () => {
    const env = { ...fakeSystemd(NEEDS_BUS), ...BUS };
    const limiter = limiterOf({ unit: 'x', hasSystemd: true, env, uid: 1000 });
    expect(limiter).toMatchObject({ kind: 'systemd', env: BUS });
    expect(limiter.words(acme, '')).toContain('--user');
    const driver = new ProcessDriver(homeOf(), { limiter });
    const spec = checkTenant({ name: 'acme', http: 8080, ...entry([]) });
    try {
      await driver.create(spec);
      await driver.start(spec);
      const host = await driver.address(spec);
      await untilAccepts({ host, port: 8080, login: null }, AbortSignal.timeout(20_000));
      const seen = await ask(host, 'env');
      for (const name of Object.keys(BUS)) expect(seen).not.toHaveProperty(name);
      expect(seen.SEGANET_TENANT).toBe('acme');
      expect(await driver.problems()).toEqual([]);
    } finally {
      await driver.stop(spec, 5000);
      driver.close();
    }
  });

  test('limits tenants with prlimit if the user has no bus, and reports the reason', async () => {
    const limiter = limiterOf({ unit: 'x', hasSystemd: true, env: fakeSystemd(NEEDS_BUS), uid: 61_234 });
    expect(limiter.kind).not.toBe('systemd');
    const driver = new ProcessDriver(homeOf(), { limiter });
    expect(await driver.problems()).toEqual([
      expect.stringContaining('no scopes for this user: Failed to connect to bus')
    ]);
    driver.close();
  });
});
