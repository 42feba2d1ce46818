'use strict';
// An engine that does not enforce the limits of tenants. The engine is a server that answers as Docker does.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { systemClock } = require('../../../docker/tenants/lib/base/clock');
const { DockerDriver } = require('../../../docker/tenants/lib/drivers/docker');
const {
  parentOf,
  parentProblem,
  unlimitedOf,
  warningOf
} = require('../../../docker/tenants/lib/drivers/engine-limits');
const { driversOf } = require('../../../docker/tenants/lib/drivers');
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
/** The latest request for a container. @type {any} */
let created;
/** Number of questions for its limits. */
let questions = 0;
beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-l-'));
  questions = 0;
  [info, warnings] = [{ MemoryLimit: true, SwapLimit: true, PidsLimit: true, SecurityOptions: [] }, []];
  server = http.createServer((request, response) => {
    const url = String(request.url).replace(/^\/v[\d.]+/, '').split('?')[0]; // prettier-ignore
    let body = '';
    request.setEncoding('utf8').on('data', (part) => (body += part));
    if (url === '/containers/create') request.once('end', () => (created = JSON.parse(body)));
    response.setHeader('Api-Version', '1.41');
    const isMade = request.method === 'POST';
    if (url === '/info') questions++;
    if (url === '/info') response.end(JSON.stringify(info));
    else if (url === '/version') response.end('{"Version":"27.0"}');
    else if (url === '/containers/create')
      request.once('end', () => response.end(JSON.stringify({ Id: 'x', Warnings: warnings })));
    else if (url.startsWith('/images/')) response.end('{"Config":{}}');
    else if (url.endsWith('/start') && created.HostConfig.CgroupParent)
      response.writeHead(500).end('{"message":"unable to apply cgroup configuration: permission denied"}');
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

describe('the control group of tenants', () => {
  test('is beside the services of the machine, and that of the engine without root', () => {
    const plain = { isRootless: false, chosen: '' };
    for (const CgroupVersion of ['1', '2']) {
      expect(parentOf({ CgroupDriver: 'cgroupfs', CgroupVersion }, plain)).toBe('/');
      expect(parentOf({ CgroupDriver: 'systemd', CgroupVersion }, plain)).toBe('system.slice');
    }
    for (const driverOfGroups of ['none', 'other', undefined])
      expect(parentOf({ CgroupDriver: driverOfGroups }, plain)).toBe('');
    expect(parentOf(null, plain)).toBe('');
    expect(parentOf({ CgroupDriver: 'systemd' }, { ...plain, isRootless: true })).toBe('');
  });

  test('is that of an administrator who has chosen one for all containers, unless the variable names another', async () => {
    const socket = path.join(folder, 'engine.sock');
    const config = path.join(folder, 'daemon.json');
    fs.writeFileSync(config, JSON.stringify({ hosts: [`unix://${socket}`], 'cgroup-parent': 'vm.slice' }));
    info.CgroupDriver = 'systemd';
    const home = { volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') };
    const places = { proc: path.join(folder, 'proc'), config };
    for (const [parent, expected, where] of /** @type {const} */ ([
      [
        undefined,
        undefined,
        'docker 27.0 runs as root: any user of its socket is root; tenants are in vm.slice'
      ],
      ['mine.slice', 'mine.slice', 'docker 27.0 runs as root: any user of its socket is root']
    ])) {
      const own = new DockerDriver(home, { name: 'docker', socket, parent, places });
      await own.create(spec);
      expect(created.HostConfig.CgroupParent).toBe(expected);
      expect(await own.check()).toBe(where);
      own.close();
    }
  });

  test.each([
    ['systemd', undefined, true],
    ['systemd', '', true],
    ['systemd', 'system.slice', true],
    ['systemd', 'a-b.slice', true],
    ['systemd', '-.slice', true],
    ['systemd', 'a--b.slice', false],
    ['systemd', '-a.slice', false],
    ['systemd', '.slice', false],
    ['systemd', '/tenants', false],
    ['systemd', '/a.slice', false],
    ['cgroupfs', '/tenants', true],
    [undefined, '/tenants', true]
  ])('of an engine whose groups %s makes may be %j: %j', (CgroupDriver, given, isRight) => {
    const problem = parentProblem({ CgroupDriver }, given);
    if (isRight) expect(problem).toBe('');
    else
      expect(problem).toMatch(/^SEGANET_TENANTS_CGROUP is .+ only names of slices, such as seganet.slice$/);
  });

  /** @param {string} given @returns {Promise<unknown>} the group in the request for the container */
  async function groupWith(given) {
    info.CgroupDriver = 'cgroupfs';
    const env = { SEGANET_TENANTS_DOCKER: path.join(folder, 'engine.sock'), SEGANET_TENANTS_CGROUP: given };
    const home = { volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') };
    const drivers = driversOf({ home: /** @type {any} */ (home), env });
    await drivers.get('docker').create(spec);
    drivers.close();
    return created.HostConfig.CgroupParent;
  }

  test('is as the variable says, or as without it', async () => {
    expect(await groupWith('')).toBe('/');
    expect(await groupWith(' /tenants/all ')).toBe('/tenants/all');
    expect(await groupWith('seganet.slice')).toBe('seganet.slice');
    expect(await groupWith('engine')).toBeUndefined();
  });

  test('is that of the engine if it may make none elsewhere, also for the tenants after that', async () => {
    info.CgroupDriver = 'cgroupfs';
    await driver.create(spec);
    expect(created.HostConfig.CgroupParent).toBe('/');
    await driver.start(spec);
    expect(created.HostConfig.CgroupParent).toBeUndefined();
    const why =
      'docker makes no control groups for tenants beside those of other programs, so a busy tenant delays the others: unable to apply cgroup configuration: permission denied';
    expect(await driver.problems([spec])).toEqual([`${why}.`]);
    expect(driver.lacks(spec)).toBe(why);
    await driver.create({ ...spec, name: 'beta' });
    expect(created.HostConfig.CgroupParent).toBeUndefined();
  });

  test('that was given and cannot be used ends the start', async () => {
    const home = { volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') };
    const given = new DockerDriver(home, {
      name: 'docker',
      socket: path.join(folder, 'engine.sock'),
      parent: '/mine'
    });
    await given.create(spec);
    await expect(given.start(spec)).rejects.toThrow('unable to apply cgroup configuration');
    given.close();
  });

  test.each(['tenants', '/a/../b', '/a b', 'x.scope'])("'%s' is none", (given) => {
    const env = { SEGANET_TENANTS_CGROUP: given };
    expect(() => driversOf({ home: /** @type {any} */ ({}), env }).get('podman')).toThrow(
      /^SEGANET_TENANTS_CGROUP must be 'engine' or a control group such as \/ or system\.slice, not /
    );
  });
});
