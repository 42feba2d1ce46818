'use strict';
// The drivers of containers, each with an engine in network, mount and process namespaces of its own: nothing of it
// stays behind, and its networks do not appear on this machine. Needs root.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../bench/harness/tools');

const ROOT = path.join(__dirname, '..', '..', '..');
const LIMIT_MS = 360_000;

/**
 * @param {string} engine
 * @param {string} folder
 * @returns {Promise<{ results: any, output: string }>} of Jest inside
 */
async function runInside(engine, folder) {
  const file = path.join(folder, 'results.json');
  const config = {
    rootDir: ROOT,
    testEnvironment: 'node',
    testMatch: ['<rootDir>/test/fixtures/tenants/suites/containers.suite.js'],
    modulePathIgnorePatterns: ['<rootDir>/native/out/', '<rootDir>/native/build/']
  };
  const jest = [
    path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--config',
    JSON.stringify(config)
  ];
  const args = [...jest, '--runInBand', '--json', `--outputFile=${file}`, '--forceExit'];
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = spawn('unshare', [...namespaces, '--', process.execPath, ...args], {
    cwd: ROOT,
    env: { ...process.env, SEGANET_TEST_ENGINE: engine, SEGANET_TEST_FOLDER: folder },
    stdio: ['ignore', 'pipe', 'pipe']
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS - 10_000);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return { results: fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : null, output };
}

/** @type {['docker' | 'podman', string[]][]} */
const ENGINES = [
  ['docker', ['dockerd', 'runc', 'iptables', 'nft']],
  ['podman', ['podman', 'runc', 'catatonit', 'nft']]
];

for (const [engine, tools] of ENGINES) {
  const { test } = needs(...tools, 'unshare', 'ip', 'tar');
  test(
    `the driver ${engine} passes the suite of all drivers, isolates tenants and holds against attacks`,
    async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sgc-'));
      try {
        const { results, output } = await runInside(engine, folder);
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
