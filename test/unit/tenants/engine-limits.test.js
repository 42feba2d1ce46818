'use strict';
// An engine that does not enforce the limits of tenants. The engine is a server that answers as Docker does.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { systemClock } = require('../../../docker/tenants/lib/base/clock');
const { DockerDriver } = require('../../../docker/tenants/lib/drivers/docker');
const { unlimitedOf, warningOf } = require('../../../docker/tenants/lib/drivers/engine-limits');
const { unlimitedWrites } = require('../../../docker/tenants/lib/drivers/block-device');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { Keeper } = require('../../../docker/tenants/lib/life/keeper');
const { DIGEST } = require('../../fixtures/tenants/digest');

const LIMITS = { starts: 1, readyMs: 1000, leaseMs: 1000, graceMs: 1000, warmBytes: 0 };
const WARNING =
  'Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.';
const spec = checkTenant({ name: 'acme', driver: 'docker', image: DIGEST });

/** @type {string} */
let folder;
/** @type {http.Server} */
let server;
/** @type {DockerDriver} */
let driver;
/** @type {any} */
let info;
/** @type {string[]} */
let warnings;
/** Number of questions for its limits. */
let questions = 0;
beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-l-'));
  questions = 0;
  [info, warnings] = [{ MemoryLimit: true, SwapLimit: true, PidsLimit: true, SecurityOptions: [] }, []];
  server = http.createServer((request, response) => {
    const url = String(request.url).replace(/^\/v[\d.]+/, '').split('?')[0]; // prettier-ignore
    request.resume();
    response.setHeader('Api-Version', '1.41');
    const isMade = request.method === 'POST';
    if (url === '/info') questions++;
    if (url === '/info') response.end(JSON.stringify(info));
    else if (url === '/version') response.end('{"Version":"27.0"}');
    else if (url === '/containers/create') response.end(JSON.stringify({ Id: 'x', Warnings: warnings }));
    else if (url.startsWith('/images/')) response.end('{"Config":{}}');
    else if (url === '/_ping' || isMade || request.method === 'HEAD') response.end('{}');
    else response.writeHead(404).end('{"message":"no such object"}');
  });
  await once(server.listen(path.join(folder, 'engine.sock')), 'listening');
  const home = { volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') };
  driver = new DockerDriver(home, {
    name: 'docker',
    socket: path.join(folder, 'engine.sock'),
    groups: path.join(folder, 'groups')
  });
  fs.mkdirSync(path.join(folder, 'groups', 'blkio'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'groups', 'blkio', 'blkio.throttle.write_bps_device'), '');
});
afterEach(async () => {
  driver.close();
  server.close().closeAllConnections();
  fs.rmSync(folder, { recursive: true, force: true });
});

test('asks the engine once for its limits, for all tenants together', async () => {
  const names = ['acme', 'beta', 'gamma', 'delta'];
  await Promise.all(names.map((name) => driver.inspect({ ...spec, name })));
  expect(questions).toBe(1);
});

/** @returns {Promise<import('../../../docker/tenants/lib/life/keeper').Row>} of the keeper's list */
async function rowOf() {
  const keeper = new Keeper({
    drivers: () => driver,
    clock: systemClock,
    limits: LIMITS,
    state: path.join(folder, 'state')
  });
  try {
    await keeper.apply([spec]);
    return (await keeper.list())[0];
  } finally {
    await keeper.close({ isStopped: false });
  }
}

test('an engine with all control groups has no problem', async () => {
  expect(await driver.problems([spec])).toEqual([]);
  expect(await rowOf()).toMatchObject({ isolated: true, reason: '' });
});

test('without the control group for memory a tenant is not isolated, and the reason names it', async () => {
  info.MemoryLimit = false;
  expect(await rowOf()).toMatchObject({ isolated: false, reason: 'docker does not limit its memory' });
  expect(await driver.problems([spec])).toEqual([
    expect.stringMatching(/^docker does not limit memory of tenants/)
  ]);
});

test('a keeper that sees no control group for disks says that writes are not limited, in the list and the check', async () => {
  fs.rmSync(path.join(folder, 'groups', 'blkio'), { recursive: true });
  const why =
    /: this process sees no control group for disks \(blkio or io\) in .*groups, or the kernel has none/;
  const { isolated, reason } = await rowOf();
  expect(isolated).toBe(true);
  expect(reason).toMatch(/^docker does not limit what it writes to the disk/);
  expect(reason).toMatch(why);
  const free = { ...spec, name: 'free', limits: { ...spec.limits, writeMiBps: 0 } };
  expect(await driver.problems([free])).toEqual([]);
  expect(driver.lacks(free)).toBe('');
  const [problem] = await driver.problems([spec, free]);
  expect(problem).toMatch(/^docker does not limit what acme writes to the disk \(limits.writeMiBps\)/);
  expect(problem).toMatch(why);
  const many = Array.from({ length: 7 }, (_, i) => ({ ...spec, name: `t${i}` }));
  expect((await driver.problems(many))[0]).toContain('what t0, t1, t2, t3, t4 and 2 more tenants write to');
});

test('an engine without root, and data that are on no disk, have no limit of writes either', async () => {
  info.SecurityOptions = ['name=rootless'];
  expect((await rowOf()).reason).toContain('the engine runs without root');
  info.SecurityOptions = [];
  fs.mkdirSync(path.join(folder, 'volumes'));
  const places = { groups: path.join(folder, 'groups'), sys: path.join(folder, 'sys') };
  expect(unlimitedWrites(path.join(folder, 'volumes'), places)).toMatch(/volumes is in memory, on a network/);
});

test('a warning of the container counts, too, unless it is about something else', async () => {
  warnings = ['The image is of another platform.', WARNING];
  await driver.create(spec);
  expect(driver.weakness(spec)).toBe(`docker warns: ${WARNING}`);
  expect(await rowOf()).toMatchObject({ isolated: false, reason: expect.stringContaining(WARNING) });
  warnings = [warnings[0]];
  await driver.create(spec);
  expect(driver.weakness(spec)).toBe('');
});

test.each([
  [{}, false, ''],
  [null, false, ''],
  [{ MemoryLimit: false, PidsLimit: false, SwapLimit: false }, true, 'memory and processes'],
  [{ MemoryLimit: true, SwapLimit: false }, true, 'swap'],
  [{ MemoryLimit: true, SwapLimit: false }, false, '']
])('of %j (swap: %s) it is: %j', (answer, isSwapping, expected) => {
  expect(unlimitedOf(answer, isSwapping)).toBe(expected);
});

test('takes any answer as warnings', () => {
  for (const answer of [undefined, null, 'limit', {}, [], [1, null]]) expect(warningOf(answer)).toBe('');
});
