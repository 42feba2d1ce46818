'use strict';
// Spares, with a small program in the place of a gateway. test/system/tenants/spares.test.js has real gateways.

const { fork } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { identityOf, livingStat } = require('../../../docker/tenants/lib/base/processes');
const { Spares } = require('../../../docker/tenants/lib/drivers/spares');

/** Writes its standard input to the file that the input names. */
const ECHO = `const fs = require('fs');
const text = fs.readFileSync(0, 'utf8');
if (text) fs.writeFileSync(JSON.parse(text).output, text);`;
const MIB = 1 << 20;

/** @type {string} */
let folder;
/** @type {Spares} */
let spares;
let bytes = 1024 * MIB;
let version = '1';
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-spares-'));
  bytes = 1024 * MIB;
  spares = sparesOf(ECHO);
});
afterEach(() => {
  spares.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {string} code of the program @param {string[]} [words] before it */
function sparesOf(code, words = []) {
  const program = path.join(folder, `program-${code.length}.js`);
  fs.writeFileSync(program, code);
  const env = () => ({ PATH: process.env.PATH ?? '' });
  return new Spares({
    words: () => words,
    env,
    program,
    available: () => bytes,
    version: () => version,
    // Only the tests look.
    lookMs: 2 ** 30
  });
}

/** @param {number} times */
function look(times) {
  for (let i = 0; i < times; i++) spares.look();
}

const NONE = () => [];

test('a spare becomes one tenant, and the next look starts another one', async () => {
  spares.keep(2);
  look(5);
  expect(spares.row).toMatchObject({ waiting: 2, most: 2, reason: '' });
  const spare = await spares.take(NONE);
  if (!spare) throw new Error('There is none.');
  expect(spares.row.waiting).toBe(1);
  const output = path.join(folder, 'output');
  const ended = new Promise((resolve) => spare.child.once('exit', resolve));
  spare.become({ cwd: '/', output, env: { A: 'b' } });
  expect(await ended).toBe(0);
  expect(fs.readFileSync(output, 'utf8')).toBe(`{"cwd":"/","output":"${output}","env":{"A":"b"}}\n`);
  const other = await spares.take(NONE);
  expect(other?.pid).not.toBe(spare.pid);
  expect(await spares.take(NONE)).toBeNull();
  other?.child.kill('SIGKILL');
  look(1);
  expect(spares.row.waiting).toBe(1);
});

test('no spare starts while tenants start', () => {
  let isBusy = true;
  spares.keep(1, () => isBusy);
  look(3);
  expect(spares.row.waiting).toBe(0);
  isBusy = false;
  look(1);
  expect(spares.row.waiting).toBe(1);
});

test('no spare starts with little memory, and all end with less', async () => {
  spares.keep(2);
  look(1);
  bytes = 255 * MIB;
  look(1);
  expect(spares.row).toMatchObject({ waiting: 1, reason: 'only 255 MiB of memory are available' });
  const taken = await spares.take(NONE);
  bytes = 1024 * MIB;
  look(1);
  bytes = 127 * MIB;
  look(1);
  expect(spares.row).toMatchObject({ waiting: 0, reason: 'only 127 MiB of memory are available' });
  // One that was taken is a tenant.
  expect(taken?.child.killed).toBe(false);
  taken?.child.kill('SIGKILL');
  bytes = 1024 * MIB;
  look(3);
  expect(spares.row).toMatchObject({ waiting: 2, reason: '' });
});

test('a spare that cannot get the limits of a tenant ends, and the tenant starts without it', async () => {
  spares.keep(1);
  look(1);
  /** @type {import('../../../docker/tenants/lib/base/processes').Identity | null} */
  let identity = null;
  const refuse = (/** @type {{ pid: number }} */ { pid }) => {
    identity = identityOf(pid);
    return [['sh', '-c', 'exit 1']];
  };
  expect(await spares.take(refuse)).toBeNull();
  expect(identity).not.toBeNull();
  await eventually(async () => identity && !livingStat(identity));
  expect(spares.row.reason).toMatch(/^a spare was of no use: Command failed/);
});

test('spares that have loaded former packages end', async () => {
  spares.keep(1);
  look(1);
  version = '2';
  expect(await spares.take(NONE)).toBeNull();
  look(1);
  expect(spares.row.waiting).toBe(1);
  version = '3';
  look(1);
  const spare = await spares.take(NONE);
  expect(spare?.version).toBe('3');
  spare?.child.kill('SIGKILL');
});

test('spares that end by themselves are not started without end', async () => {
  spares = sparesOf('process.exit(3);');
  spares.keep(1);
  for (let i = 0; i < 3; i++) {
    look(1);
    expect(spares.row.waiting).toBe(1);
    await eventually(async () => spares.row.waiting === 0);
  }
  look(3);
  expect(spares.row).toMatchObject({ waiting: 0, reason: 'a spare ended with code 3' });
  // The tenants changed.
  spares.keep(1);
  look(1);
  expect(spares.row.waiting).toBe(1);
});

test('a program that cannot be started is reported', async () => {
  spares = sparesOf(ECHO, ['/does/not/exist']);
  spares.keep(1);
  look(1);
  await eventually(async () => spares.row.reason !== '');
  expect(spares.row).toMatchObject({ waiting: 0, reason: expect.stringContaining('cannot be started') });
});

test('spares end with a keeper that is killed', async () => {
  const keeper = path.join(folder, 'keeper.js');
  const program = path.join(folder, 'waiting.js');
  fs.writeFileSync(
    program,
    "const fs = require('fs'); fs.writeFileSync(`${__filename}.pid`, String(process.pid)); fs.readFileSync(0);"
  );
  const file = require.resolve('../../../docker/tenants/lib/drivers/spares');
  fs.writeFileSync(
    keeper,
    `const { Spares } = require(${JSON.stringify(file)});
const spares = new Spares({ words: () => [], env: () => process.env, program: ${JSON.stringify(program)} });
spares.keep(1);
spares.look();
setInterval(() => {}, 1e6);`
  );
  const child = fork(keeper, { execArgv: [] });
  const pidFile = `${program}.pid`;
  const pid = await eventually(() => fs.existsSync(pidFile) && Number(fs.readFileSync(pidFile, 'utf8')));
  const identity = identityOf(pid);
  if (!identity) throw new Error('There is no spare.');
  expect(livingStat(identity)).not.toBeNull();
  child.kill('SIGKILL');
  await eventually(async () => !livingStat(identity));
});
