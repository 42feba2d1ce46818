'use strict';
// The drivers of containers, each with an engine in network, mount and process namespaces of its own: nothing of it
// stays behind, and its networks do not appear on this machine. Needs root.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { PATIENCE } = require('../../../bench/harness/patience');
const { needs } = require('../../../bench/harness/tools');
const { NEEDED, startRootless } = require('../../fixtures/tenants/rootless');

const ROOT = path.join(__dirname, '..', '..', '..');
const LIMIT_MS = 360_000;

/** @param {string} repo @param {string} folder @returns {string[]} arguments of Node */
function jestArguments(repo, folder) {
  const config = {
    rootDir: repo,
    cacheDirectory: path.join(folder, 'cache'),
    testEnvironment: '<rootDir>/test/environment.js',
    transform: {},
    testMatch: ['<rootDir>/test/fixtures/tenants/suites/containers.suite.js'],
    modulePathIgnorePatterns: ['<rootDir>/native/out/', '<rootDir>/native/build/']
  };
  const jest = [
    path.join(repo, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--config',
    JSON.stringify(config)
  ];
  return [
    ...jest,
    '--runInBand',
    '--json',
    `--outputFile=${path.join(folder, 'results.json')}`,
    '--forceExit'
  ];
}

/**
 * Starts the engine with higher limits than a tenant may have, so that the suite finds a tenant that inherits them.
 * Empty if root cannot raise limits.
 */
const GENEROUS = ['prlimit', '--nice=40', '--rtprio=99'];
if (spawnSync(GENEROUS[0], [...GENEROUS.slice(1), 'true']).status !== 0) {
  console.warn('The engine gets no generous limits: this machine does not let root raise them.');
  GENEROUS.length = 0;
}

/** @param {string} folder @param {NodeJS.ProcessEnv} env */
function startAsRoot(folder, env) {
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const program = [...(env.SEGANET_TEST_ENGINE === 'docker' ? GENEROUS : []), process.execPath];
  const command = [...namespaces, '--', ...program, ...jestArguments(ROOT, folder)];
  const child = spawn('unshare', command, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, remove: () => {} };
}

/** @param {string} folder @param {NodeJS.ProcessEnv} env */
const startWithoutRoot = (folder, env) =>
  startRootless(folder, ROOT, jestArguments(path.join(folder, 'repo'), folder), env);

/**
 * @param {string} engine
 * @param {boolean} isRootless
 * @param {string} folder
 * @returns {Promise<{ results: any, output: string }>} of Jest inside
 */
async function runInside(engine, isRootless, folder) {
  const file = path.join(folder, 'results.json');
  const env = { ...process.env, SEGANET_TEST_ENGINE: engine, SEGANET_TEST_FOLDER: folder };
  const { child, remove } = (isRootless ? startWithoutRoot : startAsRoot)(folder, env);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (output += part));
  const timer = setTimeout(() => child.kill('SIGKILL'), (LIMIT_MS - 10_000) * PATIENCE);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  remove();
  return { results: fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : null, output };
}

const PODMAN = ['podman', 'runc', 'catatonit', 'nft'];

/** @type {['docker' | 'podman', boolean, string[]][]} */
const ENGINES = [
  ['docker', false, ['dockerd', 'runc', 'iptables', 'nft', 'prlimit']],
  ['podman', false, PODMAN],
  ['podman', true, [...PODMAN, 'setpriv', NEEDED]]
];

for (const [engine, isRootless, tools] of ENGINES) {
  const { test } = needs(...tools, 'unshare', 'ip', 'tar');
  test(
    `the driver ${engine}${isRootless ? ', without root,' : ''} passes the suite of all drivers, isolates tenants and holds against attacks`,
    async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sgc-'));
      try {
        const { results, output } = await runInside(engine, isRootless, folder);
        if (!results) throw new Error(output.slice(-6000));
        const tests = results.testResults.flatMap((/** @type {any} */ each) => each.assertionResults);
        const failed = tests.filter((/** @type {any} */ { status }) => status !== 'passed');
        const told = failed.map(
          (/** @type {any} */ each) => `${each.fullName}\n${each.failureMessages.join('\n')}`
        );
        expect(told.join('\n\n')).toBe('');
        // An error outside of the tests, for example of the engine's end.
        const troubles = results.testResults.map((/** @type {any} */ { message }) => message).filter(Boolean);
        expect([results.success, troubles, results.success ? '' : output.slice(-3000)]).toEqual([
          true,
          [],
          ''
        ]);
        expect(tests.length).toBeGreaterThan(15);
      } finally {
        fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    LIMIT_MS
  );
}
