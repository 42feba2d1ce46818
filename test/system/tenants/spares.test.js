'use strict';
// A tenant whose gateway was a spare is in no way different from one that was started cold.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { identityOf, livingStat, statOf } = require('../../../docker/tenants/lib/base/processes');
const { ProcessDriver } = require('../../../docker/tenants/lib/drivers/process');
const { untilAccepts } = require('../../../docker/tenants/lib/life/readiness');
const { KEEPER, secretsOf } = require('../../../docker/tenants/lib/life/secrets');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');

jest.setTimeout(120_000);

const LONG = { timeoutMs: 60_000 };
const HTTP = 8080;

/** @type {string} */
let folder;
/** @type {ProcessDriver} */
let driver;
const home = () => ({ volumes: path.join(folder, 'volumes'), state: path.join(folder, 'state') });
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-spares-'));
  driver = new ProcessDriver(home());
});
afterAll(async () => {
  for (const spec of [acme, blue]) await driver.stop(spec, 100);
  driver.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const limits = { memoryMiB: 1024, files: 777, volumeMiB: 333 };
const acme = checkTenant({ name: 'acme', driver: 'process', limits });
const blue = checkTenant({ name: 'blue', driver: 'process', limits, http: HTTP });

/** A flow that writes the environment of a program that it starts. @param {string} file */
const flowOf = (file) => [
  ...JSON.parse(fs.readFileSync(path.join(__dirname, '../../../flows/tenant.json'), 'utf8')),
  { id: 'tab', type: 'tab', label: 'env' },
  { id: 'now', type: 'inject', z: 'tab', once: true, onceDelay: 0.1, props: [], wires: [['env']] },
  { id: 'env', type: 'exec', z: 'tab', command: `env > ${file}`, addpay: '', append: '', wires: [[], [], []] }
];

/** @param {typeof acme} spec */
async function start(spec) {
  await driver.create(spec);
  const volume = path.join(folder, 'volumes', spec.name);
  const file = path.join(folder, `${spec.name}.env`);
  fs.rmSync(file, { force: true });
  fs.writeFileSync(path.join(volume, 'gateway.json'), JSON.stringify(flowOf(file)));
  await driver.start(spec);
  const host = await driver.address(spec);
  const { password } = secretsOf(path.join(folder, 'state', spec.name));
  const signal = AbortSignal.timeout(60_000);
  await untilAccepts({ host, port: spec.port, login: { user: KEEPER, password } }, signal);
  await eventually(async () => fs.existsSync(file) && fs.statSync(file).size > 0, LONG);
  const { pid } = JSON.parse(fs.readFileSync(path.join(folder, 'state', spec.name, 'process.json'), 'utf8'));
  const [proc, stat] = [
    `/proc/${pid}`,
    fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  ];
  const status = fs.readFileSync(`${proc}/status`, 'utf8');
  return {
    host,
    pid,
    facts: {
      limits: fs.readFileSync(`${proc}/limits`, 'utf8'),
      cwd: fs.readlinkSync(`${proc}/cwd`),
      descriptors: [0, 1, 2].map((fd) => [
        fs.readlinkSync(`${proc}/fd/${fd}`),
        // Flags: how it is open.
        /flags:\t.*/.exec(fs.readFileSync(`${proc}/fdinfo/${fd}`, 'utf8'))?.[0]
      ]),
      leads: [Number(stat[2]) === pid, Number(stat[3]) === pid],
      identity: status.match(/^(Uid|Gid|Groups|Umask|NoNewPrivs|Seccomp|SigIgn|SigBlk).*$/gm),
      cgroup: fs.readFileSync(`${proc}/cgroup`, 'utf8'),
      env: fs.readFileSync(file, 'utf8').split('\n').sort()
    }
  };
}

/** @returns {import('../../../docker/tenants/lib/base/processes').Identity[]} spares of this process */
const spareProcesses = () =>
  fs.readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null;
    if (stat?.parent !== process.pid) return [];
    const command = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8');
    const identity = command.includes('launcher/spare.js') && identityOf(Number(name));
    return identity ? [identity] : [];
  });

/** @returns {Promise<import('../../../docker/tenants/lib/base/processes').Identity>} the only one */
async function untilSpare() {
  driver.keepSpares([acme, blue], 1);
  await eventually(async () => driver.spares.waiting === 1, LONG);
  // A gateway changes its title, so those that became tenants are not among these.
  const all = spareProcesses();
  expect(all).toHaveLength(1);
  return all[0];
}

test('it has the limits, files, variables and rights of a cold start, and is found by the next keeper', async () => {
  const cold = await start(acme);
  await driver.stop(acme, 20_000);
  const spare = await untilSpare();
  const warm = await start(acme);
  expect(warm.pid).toBe(spare.pid);
  expect(warm.facts).toEqual(cold.facts);
  expect(warm.facts.limits).toMatch(/open files +777 +777/);
  const other = new ProcessDriver(home());
  expect((await other.inspect(acme)).state).toBe('running');
  await other.stop(acme, 20_000);
  other.close();
  expect((await driver.logs(acme, 100)).match(/engine: Stopped/g)).toHaveLength(2);
  expect((await driver.inspect(acme)).state).toBe('stopped');
});

test('it serves the pages of a tenant that has some', async () => {
  const spare = await untilSpare();
  const { host, pid } = await start(blue);
  expect(pid).toBe(spare.pid);
  const answer = await fetch(`http://${host}:${HTTP}/`);
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('red.min.js')]);
  await driver.stop(blue, 20_000);
});

test('it waits without using the processor or a file of a tenant', async () => {
  const { pid } = await untilSpare();
  const used = () => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  await eventually(() => isIdle(used), LONG);
  const open = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => fs.readlinkSync(`/proc/${pid}/fd/${fd}`));
  expect(open.filter((file) => file.startsWith(folder))).toEqual([]);
  expect(driver.spares.memoryBytes).toBeGreaterThan(10 << 20);
});

/** @param {() => string[]} used @returns {Promise<boolean>} true if it took no time meanwhile */
async function isIdle(used) {
  const before = used();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return used().join() === before.join();
}

test('no spare is left when no tenant could use one, or the driver closes', async () => {
  const spare = await untilSpare();
  driver.keepSpares([checkTenant({ name: 'own', driver: 'process', command: ['true'] })], 1);
  await eventually(async () => !livingStat(spare), LONG);
  expect(driver.spares).toMatchObject({ waiting: 0, most: 0, memoryBytes: 0 });
});
