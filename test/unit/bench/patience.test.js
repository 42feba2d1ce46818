'use strict';
// Deadlines of tests on a busy machine.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.join(__dirname, '../../..');
const jestCommand = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const harness = (/** @type {string} */ name) => JSON.stringify(path.join(root, 'bench', 'harness', name));

/** Each takes 300 ms and has 100 ms. */
const SUITE = `
  const { eventually } = require(${harness('net')});
  const { Child } = require(${harness('child')});
  const sleep = () => new Promise((resolve) => setTimeout(resolve, 300));
  beforeEach(sleep, 100);
  test('test', sleep, 100);
  test('a second test', sleep, 100);
  test('wait', async () => {
    const end = performance.now() + 300;
    await eventually(() => performance.now() > end, { timeoutMs: 100 });
  }, 60000);
  test('child', async () => {
    const child = new Child('sh', ['-c', 'sleep 0.3; echo here']);
    await child.until((output) => output.includes('here'), 100);
  }, 60000);`;

/** Runs the suite. @param {string} patience @returns {any} what Jest says of it */
function run(patience) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-patience-'));
  fs.writeFileSync(path.join(folder, 'one.test.js'), SUITE);
  const config = { testEnvironment: path.join(root, 'test', 'environment.js') };
  const args = ['--rootDir', folder, '--config', JSON.stringify(config), '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, [jestCommand, ...args], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, SEGANET_TEST_PATIENCE: patience }
  });
  const [{ assertionResults, message }] = JSON.parse(stdout || stderr).testResults;
  return { message, ends: assertionResults.map((/** @type {any} */ { status }) => status) };
}

test('are longer by SEGANET_TEST_PATIENCE: of tests, hooks, waits and children', () => {
  expect(run('100')).toEqual({ message: '', ends: Array(4).fill('passed') });
}, 60000);

test('are those of the suite without it', () => {
  expect(run('').ends).toEqual(Array(4).fill('failed'));
}, 60000);

test('a value that is no factor is refused, with the limits', () => {
  for (const given of ['0', '101', 'four']) {
    expect(run(given).message).toContain(
      `SEGANET_TEST_PATIENCE must be a number from 1 to 100, not "${given}".`
    );
  }
}, 60000);
