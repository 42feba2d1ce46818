'use strict';
// The container image without a container engine: a folder gets the files that the last stage of the Dockerfile copies,
// and its CMD starts there. A file or package that the image lacks is missing here, too.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { startCloud, stop } = require('../../flows/demo/demo');
const { pack, unpack } = require('../fixtures/gateway/packed');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

/** @type {import('node:child_process').ChildProcess | undefined} */
let cloudChild;
afterEach(() => stop(cloudChild));
afterEach(cleanUp);

/** @returns {{ copies: [string, string][], command: string[], health: string[] }} of the last stage */
function lastStage() {
  const text = fs.readFileSync(path.join(ROOT, 'docker', 'Dockerfile'), 'utf8');
  const lines = text.slice(text.lastIndexOf('\nFROM ')).split('\n');
  const copies = lines
    .filter((line) => /^(COPY|ADD)\b/.test(line))
    .map((line) => {
      const found = /^COPY --from=(?:build|modules) (\S+) (\S+)$/.exec(line);
      if (!found) throw new Error(`The test does not support this line of the Dockerfile: ${line}`);
      return /** @type {[string, string]} */ ([found[1], found[2]]);
    });
  const command = lines.flatMap((line) => (line.startsWith('CMD ') ? JSON.parse(line.slice(4)) : []));
  const [, health = '[]'] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(lines.join('\n')) ?? [];
  return { copies, command, health: JSON.parse(health) };
}

/** @returns {Set<string>} places in the lock file of what runs: as npm ci --omit=dev --workspace=docker/image has it */
function runtimePlaces() {
  const { packages } = require('../../package-lock.json');
  /** @param {string} from @param {string} name @returns {string} where Node finds a package, '' = nowhere */
  const find = (from, name) => {
    const place = path.posix.join(from, 'node_modules', name);
    if (packages[place]) return place;
    return from === '' ? '' : find(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
  };
  const found = new Set();
  const add = (/** @type {string} */ from) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[from];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = find(from, name);
      if (place === '' || found.has(place)) continue;
      found.add(place);
      add(place);
    }
  };
  add('');
  add('docker/image');
  return found;
}

/** @param {string} to a new folder with links to the packages of this checkout that run */
function linkModules(to) {
  for (const place of runtimePlaces()) {
    // Nested ones are inside the package around them; those for other platforms are not installed.
    if (place.lastIndexOf('node_modules/') > 0 || !fs.existsSync(path.join(ROOT, place))) continue;
    const link = path.join(to, place.slice('node_modules/'.length));
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.symlinkSync(path.join(ROOT, place), link);
  }
}

/** The files of a stage at a place. @param {string} from @param {string} to */
function copy(from, to) {
  if (from === '/image') return unpack(pack(temporaryFolder()), to);
  if (from === '/gateway/node_modules') return linkModules(to);
  throw new Error(`The test does not know the content of the stage at ${from}.`);
}

test('installs the releases that the tests use, and none that only the development needs', () => {
  const { dependencies } = require('../../docker/image/package.json');
  const { devDependencies } = require('../../package.json');
  const accounts = require('../../flows/accounts/package.json');
  const tested = { ...devDependencies, 'openid-client': accounts.dependencies['openid-client'] };
  for (const [name, version] of Object.entries(dependencies))
    expect([name, tested[name]]).toEqual([name, version]);
  const places = runtimePlaces();
  for (const name of ['node-red', 'mqtt', 'pg']) expect(places).toContain(`node_modules/${name}`);
  for (const name of ['jest', 'eslint', 'playwright-core', 'aedes', 'oidc-provider'])
    expect(places).not.toContain(`node_modules/${name}`);
});

test('copies the manifest of each workspace before npm ci', () => {
  const text = fs.readFileSync(path.join(ROOT, 'docker', 'Dockerfile'), 'utf8');
  const { workspaces } = require('../../package.json');
  for (const folder of workspaces)
    expect(text.split(`COPY ${folder}/package.json ${folder}/\n`)).toHaveLength(3); // of both stages
});

test('has every file that the gateway needs: records of its devices reach a cloud', async () => {
  const { copies, command, health } = lastStage();
  const gateway = temporaryFolder();
  for (const [from, to] of copies) copy(from, path.join(gateway, to));
  const [node, ...args] = command;
  expect(node).toBe('node');
  const first = Promise.withResolvers();
  const cloud = await startCloud(temporaryFolder(), first.resolve);
  cloudChild = cloud.child;
  const env = cleanEnvironment({
    NODE_ENV: 'production',
    SEGANET_HOME: path.join(temporaryFolder(), 'data'),
    SEGANET_MQTT_PORT: '0',
    SEGANET_EDITOR_PORT: 'off'
  });
  const without = await run(process.execPath, args, { cwd: gateway, env }).ended;
  expect(without).toMatchObject({
    code: 78,
    output: expect.stringMatching(/^SEGANET_UPLINK_URL is not set/m)
  });

  const set = { ...env, ...cloud.settings };
  const { child, says, ended } = run(process.execPath, args, { cwd: gateway, env: set });
  const [, port] = await says(/MQTT listener on port (\d+)/, 60000);
  const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'pump-1' });
  await device.publishAsync('d/pump-1/t', '{"t":21.5}', { qos: 1 });
  await first.promise;
  await device.endAsync(true);
  const check = () =>
    run(process.execPath, health.slice(1), { cwd: gateway, env: { ...env, SEGANET_MQTT_PORT: port } }).ended;
  expect(health[0]).toBe('node');
  expect(await check()).toMatchObject({ code: 0, output: expect.stringMatching(/port for devices is open/) });
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  expect((await check()).code).toBe(1);
}, 180000);
