'use strict';
// A tenant with as many open files and threads as it can have: the keeper serves the others meanwhile, and its looks at
// their data go on.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { TABLES, deletedBytes } = require('../../../docker/tenants/lib/base/deleted-files');
const keeper = require('../../fixtures/tenants/keeper-command');
const { PATIENCE } = require('../../../bench/harness/patience');

jest.setTimeout(120_000);

const ATTACK = path.join(__dirname, '..', '..', 'fixtures', 'tenants', 'descriptors.py');
const FILES = 4096;
const THREADS = 40;

const { test } = needs('python3', 'prlimit');

test("the keeper's event loop stays responsive during a scan of many descriptors, which ends", async () => {
  const child = spawn('python3', [ATTACK, '4000', String(THREADS)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  try {
    await once(child.stdout, 'data');
    const pids = [Number(child.pid)];
    delay.enable();
    const most = TABLES * FILES;
    await expect(deletedBytes(pids, os.tmpdir(), { files: FILES })).rejects.toThrow(
      `cannot be counted: its threads have more than ${most} open files`
    );
    expect(await deletedBytes(pids, os.tmpdir(), { files: 65536 })).toBe(0);
    delay.disable();
    // Some milliseconds are its own; this machine may have other work. All of it in one turn took seconds.
    expect(delay.percentile(99) / 1e6).toBeLessThan(50 * PATIENCE);
    expect(delay.max / 1e6).toBeLessThan(500 * PATIENCE);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a tenant with too many open files is stopped, and others are woken and limited meanwhile', async () => {
  const home = keeper.open();
  try {
    await keeper.add('--delay', '1');
    await keeper.run('add', 'blue', '--port', '0', '--http', '8080', '--files', String(FILES), '--', 'python3', ATTACK, '99999', String(THREADS)); // prettier-ignore
    const limits = ['--port', '0', '--http', '8080', '--volume', '1'];
    await keeper.run('add', 'cyan', ...limits, '--', process.execPath, keeper.PROGRAM);
    await keeper.keep();
    const rowOf = async (/** @type {string} */ name) =>
      (await keeper.api('GET', '/v1/tenants')).body.tenants.find(
        (/** @type {any} */ row) => row.name === name
      );
    for (const name of ['cyan', 'blue'])
      expect((await keeper.api('POST', `/v1/tenants/${name}/lease`, keeper.WANT)).status).toBe(200);
    const { text } = (await keeper.api('GET', '/v1/tenants/blue/logs?lines=9')).body;
    expect(Number(/^(\d+) descr/m.exec(text)?.[1])).toBeLessThan(FILES);
    // A look follows at once.
    const volumes = path.join(home, 'tenants', 'volumes');
    fs.writeFileSync(path.join(volumes, 'cyan', 'full'), Buffer.alloc(8 << 20, 1));
    let longest = 0;
    let wakes = 0;
    const isOver = async () => {
      const began = performance.now();
      await keeper.api('POST', '/v1/tenants/acme/wake', {});
      longest = Math.max(longest, wakes++ > 0 ? performance.now() - began : 0);
      return (await rowOf('blue')).state === 'failed' && (await rowOf('cyan')).state === 'failed';
    };
    await eventually(isOver, { timeoutMs: 60_000 });
    expect((await rowOf('blue')).reason).toBe(
      `its data cannot be counted: its threads have more than ${TABLES * FILES} open files (${TABLES} times limits.files)`
    );
    expect((await rowOf('cyan')).reason).toMatch(/its data \(\d+ MiB\) exceed 1 MiB/);
    expect((await rowOf('acme')).state).toBe('running');
    expect(longest).toBeLessThan(1000 * PATIENCE);
  } finally {
    await keeper.run('remove', 'blue', '--delete-data');
    await keeper.run('remove', 'cyan', '--delete-data');
    await keeper.close();
  }
});
