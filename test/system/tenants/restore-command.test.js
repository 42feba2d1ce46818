'use strict';
// `seganet-tenants restore --check` that a signal ends while the tenant runs from the backup.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { identityOf, livingStat } = require('../../../docker/tenants/lib/base/processes');

const MAIN = path.join(__dirname, '..', '..', '..', 'docker', 'tenants', 'main.js');
const isRoot = process.getuid?.() === 0;
const { test } = needs('unshare', 'nsenter', 'ip', ...(isRoot ? [] : ['root']));
/** Never healthy, and deaf. */
const PROGRAM = `require('node:fs').writeFileSync('pid', String(process.pid));
  process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`;

/** @type {string} */
let home;
beforeEach(() => (home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-r-'))));
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const volumes = () => path.join(home, 'tenants', 'volumes');

/** @param {string[]} args */
function start(...args) {
  const env = { ...process.env, SEGANET_HOME: home, SEGANET_TENANTS: '', SEGANET_TENANTS_SOCKET: '' };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const ended = once(child, 'close').then(([code]) => code);
  return { child, ended, output: () => output };
}

/** Starts the check, and waits until the tenant runs. */
async function checking() {
  expect(await start('add', 'acme', '--', process.execPath, '-e', PROGRAM).ended).toBe(0);
  fs.writeFileSync(path.join(volumes(), 'acme', 'data'), 'x');
  expect(await start('backup', 'acme').ended).toBe(0);
  const command = start('restore', 'acme', '--from', 'latest', '--check');
  const pid = await eventually(
    () => {
      const copy = fs.readdirSync(volumes()).find((name) => /^acme\.check-\w+$/.test(name)) ?? 'none';
      const file = path.join(volumes(), copy, 'pid');
      return fs.existsSync(file) && Number(fs.readFileSync(file, 'utf8'));
    },
    { timeoutMs: 20_000 }
  );
  const identity = identityOf(Number(pid));
  return { ...command, runs: () => identity !== null && livingStat(identity) !== null };
}

test.each(
  /** @type {[NodeJS.Signals, number][]} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129]
  ])
)(
  '%s ends the tenant, removes its copy, and is the exit code',
  async (signal, code) => {
    const { child, ended, output, runs } = await checking();
    child.kill(signal);
    expect(await ended).toBe(code);
    expect(output()).toContain(`${signal} has ended the command. Nothing was changed.`);
    expect(runs()).toBe(false);
    expect(fs.readdirSync(volumes())).toEqual(['acme']);
  },
  60_000
);

test('ends and removes what an earlier restore left after kill -9', async () => {
  const { child, ended, runs } = await checking();
  child.kill('SIGKILL');
  await ended;
  expect(runs()).toBe(true);
  const next = start('restore', 'acme', '--from', 'latest', '--check', '--no-start');
  expect(await next.ended).toBe(0);
  expect(next.output()).toMatch(/Removed what was left: .*acme\.check-/);
  await eventually(() => !runs());
  expect(fs.readdirSync(volumes())).toEqual(['acme']);
}, 60_000);
