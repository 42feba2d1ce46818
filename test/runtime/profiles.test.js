'use strict';

const fs = require('fs');
const path = require('path');
const { readEnvironment } = require('../../flows/launcher/environment');
const { PROFILES, applyProfile, missing } = require('../../flows/launcher/profiles');
const { VARIABLES } = require('../../flows/launcher/variables');
const { freePort } = require('../../bench/harness/net');
const { ROOT, cleanEnvironment, cleanUp, run, temporaryFolder } = require('./process');

afterEach(cleanUp);

const { small } = PROFILES;
const FOLDER = path.join(ROOT, 'flows', 'launcher');

/** @param {Record<string, string>} env */
function startLauncher(env) {
  return run(process.execPath, [path.join(FOLDER, 'start.js')], { env: cleanEnvironment(env) });
}

/**
 * A process as applyProfile() sees it.
 * @param {string[]} execArgv @param {Record<string, string>} env
 */
function processWith(execArgv, env) {
  /** @type {{ args: string[], env: Record<string, string> }[]} */
  const calls = [];
  const execve = (/** @type {string} */ _file, /** @type {string[]} */ args, /** @type {any} */ given) =>
    void calls.push({ args, env: given });
  const running = /** @type {any} */ ({ execPath: '/node', execArgv, env, execve });
  return { running, calls };
}

test('has a valid value for each variable of each profile', () => {
  for (const { variables } of Object.values(PROFILES)) {
    for (const [name, value] of Object.entries(variables)) {
      expect(VARIABLES.find((each) => each.name === name)?.check(value)).toBe(value);
    }
  }
});

test('changes defaults, and explicit values win', () => {
  const env = { SEGANET_PROFILE: 'small', SEGANET_MEMORY_MIB: '32', SEGANET_WORKERS: '' };
  expect(readEnvironment(env)).toMatchObject({
    ...small.variables,
    SEGANET_MEMORY_MIB: '32',
    SEGANET_PROFILE: 'small'
  });
  expect(readEnvironment({})).toMatchObject({ SEGANET_PROFILE: 'standard', SEGANET_MEMORY_MIB: '64' });
});

test('starts the process again with what it lacks, once', () => {
  const first = processWith(['--max-semi-space-size=1'], { SEGANET_PROFILE: ' small ' });
  applyProfile(first.running);
  const [{ args, env }] = first.calls;
  const flags = args.slice(1, -1);
  expect(flags).toEqual(['--max-semi-space-size=1', '--max-old-space-size=128', '--optimize-for-size']);
  expect(args.at(-1)).toBe(path.join(FOLDER, 'start.js'));
  expect(env).toEqual({ SEGANET_PROFILE: ' small ', MALLOC_ARENA_MAX: '2' });
  const second = processWith(flags, env);
  applyProfile(second.running);
  expect(second.calls).toEqual([]);
});

test('keeps flags and variables that are set explicitly', () => {
  const env = { NODE_OPTIONS: '--no-warnings --max_old_space_size=300', MALLOC_ARENA_MAX: '8' };
  expect(missing(small, { execArgv: ['--max-semi-space-size=4'], env })).toEqual({
    flags: ['--optimize-for-size'],
    system: {}
  });
});

test('leaves a process alone without a profile, with an unknown one, and where it cannot be replaced', () => {
  for (const name of ['', 'standard', 'tiny', 'constructor']) {
    const { running, calls } = processWith([], { SEGANET_PROFILE: name });
    applyProfile(running);
    expect(calls).toEqual([]);
  }
  const { running } = processWith([], { SEGANET_PROFILE: 'small' });
  applyProfile({ ...running, execve: undefined });
});

test('refuses an unknown profile with exit code 78', async () => {
  const { code, output } = await startLauncher({ SEGANET_PROFILE: 'tiny' }).ended;
  expect(code).toBe(78);
  expect(output).toMatch(/^SEGANET_PROFILE must be one of standard, small, not "tiny"\.$/m);
});

test('runs the gateway with the flags of its profile, under the same process id', async () => {
  const started = startLauncher({
    SEGANET_PROFILE: 'small',
    SEGANET_HOME: temporaryFolder(),
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:9',
    SEGANET_MQTT_PORT: String(await freePort())
  });
  await started.says('MQTT listener on port');
  const read = (/** @type {string} */ name) =>
    fs.readFileSync(`/proc/${started.child.pid}/${name}`, 'utf8').split('\0');
  expect(read('cmdline')).toEqual(expect.arrayContaining(small.flags));
  expect(read('environ')).toContain('MALLOC_ARENA_MAX=2');
});
