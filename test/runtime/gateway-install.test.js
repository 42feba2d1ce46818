'use strict';
// The packed package, installed globally: without scripts, without a network, without a compiler.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { pack } = require('../fixtures/gateway/packed');
const { startRegistry } = require('../fixtures/gateway/registry');
const { ROOT, run, until, cleanEnvironment, cleanUp } = require('./process');

jest.setTimeout(300000);
afterEach(cleanUp);

/** @type {string} */
let folder;
/** @type {string} */
let prefix;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-global-'));
  prefix = path.join(folder, 'prefix');
  const tarball = pack(folder);
  const registry = await startRegistry();
  try {
    const args = [
      'install',
      '--global',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier'
    ];
    const places = [
      `--registry=${registry.url}`,
      `--cache=${path.join(folder, 'cache')}`,
      `--prefix=${prefix}`
    ];
    await promisify(execFile)('npm', [...args, ...places, tarball], { cwd: folder });
  } finally {
    registry.close();
  }
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} name @param {string[]} args @param {Record<string, string>} [env] */
function start(name, args, env = {}) {
  const PATH = [path.join(prefix, 'bin'), path.dirname(process.execPath), process.env.PATH].join(
    path.delimiter
  );
  return run(path.join(prefix, 'bin', name), args, { cwd: folder, env: cleanEnvironment({ PATH, ...env }) });
}

test('has every command', async () => {
  const { bin, version } = require('../../package.json');
  expect(fs.readdirSync(path.join(prefix, 'bin')).sort()).toEqual(Object.keys(bin).sort());
  for (const name of Object.keys(bin)) {
    expect(await start(name, ['--version']).ended).toMatchObject({ code: 0, output: `${version}\n` });
  }
});

test('says what it lacks, and runs when it has that', async () => {
  const home = path.join(folder, 'home');
  const gateway = (/** @type {string[]} */ ...args) =>
    start('seganet-gateway', [...args, '--home', home]).ended;
  expect(await gateway('init')).toMatchObject({ code: 0 });
  const { code, output } = await gateway('check');
  expect(code).toBe(78);
  expect(output).toMatch(
    /^problem +settings +SEGANET_UPLINK_URL is not set, and the demo is only in a checkout/m
  );
  expect(output).toMatch(/^problem +node-red +Node-RED is not installed beside the gateway/m);
  expect(await gateway('start')).toMatchObject({
    code: 78,
    output: expect.stringMatching(/^SEGANET_UPLINK_URL is not set/)
  });

  const settings = [
    'SEGANET_UPLINK_URL=mqtt://127.0.0.1:1',
    'SEGANET_EDITOR_PORT=off',
    'SEGANET_MQTT_PORT=0'
  ];
  fs.appendFileSync(path.join(home, 'gateway.env'), `${settings.join('\n')}\n`);
  expect(await gateway('start')).toMatchObject({
    code: 1,
    output: expect.stringMatching(/npm install -g node-red/)
  });

  fs.symlinkSync(
    path.join(ROOT, 'node_modules', 'node-red'),
    path.join(prefix, 'lib', 'node_modules', 'node-red')
  );
  expect(await gateway('check')).toMatchObject({ code: 0 });
  const running = start('seganet-gateway', ['start', '--home', home]);
  await running.says(/devices: MQTT listener/, 60000);
  await until(async () => (await gateway('status')).code === 1, { within: 60000 });
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0, output: expect.not.stringMatching(/^error/m) });
  expect(await gateway('status')).toMatchObject({ code: 2 });
});
