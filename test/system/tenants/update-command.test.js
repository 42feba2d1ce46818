'use strict';
// seganet-tenants update: a version that does not work is replaced by the old one, with the same data.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { ask } = require('../../fixtures/tenants/driver-suite');

const MAIN = path.join(__dirname, '..', '..', '..', 'docker', 'tenants', 'main.js');
const PROGRAM = path.join(__dirname, '..', '..', 'fixtures', 'tenants', 'tenant.js');

jest.setTimeout(120_000);

/** @type {string} */
let home;
/** @type {Child} */
let keeper;
beforeAll(async () => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'sgu-'));
  await run('add', 'acme', '--driver', 'process', '--http', '8080', '--', process.execPath, PROGRAM);
  keeper = new Child(process.execPath, [MAIN, 'run', '--stop-tenants'], { env: environment() });
  await keeper.until((output) => output.includes('listens on'), 60_000);
});
afterAll(async () => {
  await keeper?.stop('SIGTERM');
  fs.rmSync(home, { recursive: true, force: true });
});

const environment = () => ({
  ...process.env,
  SEGANET_HOME: home,
  SEGANET_TENANTS: '',
  SEGANET_TENANTS_SOCKET: ''
});

/** @param {...string} args @returns {Promise<{ code: number | null, output: string }>} */
async function run(...args) {
  const child = new Child(process.execPath, [MAIN, ...args], { env: environment() });
  const { code } = await child.exited;
  return { code, output: child.output };
}

/** @param {...string} args of the tenant's program */
const update = (...args) => run('update', 'acme', '--watch', '2', '--', process.execPath, PROGRAM, ...args);

async function row() {
  const { output } = await run('list', '--json');
  return JSON.parse(output).tenants[0];
}

const file = () => fs.readFileSync(path.join(home, 'tenants', 'tenants.json'), 'utf8');
const where = () => encodeURIComponent(path.join(home, 'tenants', 'volumes', 'acme', 'kept'));

test('runs the new version with the same data', async () => {
  expect(await run('wake', 'acme')).toMatchObject({ code: 0 });
  expect(await ask((await row()).host, `write/${where()}`)).toBe('written');
  expect(await update('--delay', '10')).toEqual({ code: 0, output: 'updated acme\n' });
  const { state, host } = await row();
  expect(state).toBe('running');
  expect(await ask(host, `read/${where()}`)).toBe('x');
  expect(file()).toContain('"--delay"');
});

test.each([
  [
    'does not start',
    ['--exit', '3'],
    /ended with code 3; its last output: cannot run\.? It runs as before\.$/
  ],
  [
    'ends soon',
    ['--crash-after', '700'],
    /it ended soon after its start: ended with code 1.* It runs as before\.$/
  ]
])('runs the old version again if the new one %s', async (_how, args, told) => {
  const before = file();
  const { code, output } = await update(...args);
  expect(output.trim()).toMatch(told);
  expect(code).toBe(1);
  expect(file()).toBe(before);
  const { state, host, failures } = await row();
  expect([state, failures]).toEqual(['running', 0]);
  expect(await ask(host, `read/${where()}`)).toBe('x');
});

test('lets a tenant sleep that slept before', async () => {
  await run('sleep', 'acme', '--force');
  expect(await update()).toMatchObject({ code: 0 });
  await eventually(async () => (await row()).state === 'stopped');
});

test.each([
  [['nobody', '--', 'x'], 1, /There is no tenant 'nobody'/],
  [['acme'], 2, /Name an --image or a COMMAND/],
  [['acme', '--watch', 'x', '--', 'x'], 2, /--watch takes a whole number from 0 to 3600/],
  [['acme', '--image', 'x'], 2, /image/]
])('refuses %j', async (args, code, told) => {
  const before = file();
  const answer = await run('update', ...args);
  expect(answer).toEqual({ code, output: expect.stringMatching(told) });
  expect(file()).toBe(before);
});
