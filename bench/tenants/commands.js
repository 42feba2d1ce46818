'use strict';
// Criteria that other commands of this repository measure or test.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../harness/child');
const { root } = require('../harness/gateway');

const QUESTION_MS = 300_000;
const TEST_MS = 1_800_000;
const RUN = 'native/node/run.js';

const DRIVERS = ['process-driver', 'container-drivers'].map((name) => `test/system/tenants/${name}.test.js`);
const ATTACKS = 'test/system/tenants/attacks';

/** Criteria that tests prove, and their files and folders. @type {Record<number, string[]>} */
const tests = {
  8: [
    'test/system/history/tenants',
    'test/system/tenants/front-and-keeper.test.js',
    'test/system/tenants/tenants.test.js'
  ],
  12: [ATTACKS, 'test/system/tenants/identity.test.js'],
  13: [ATTACKS, DRIVERS[1]],
  14: [ATTACKS, DRIVERS[1]],
  15: [ATTACKS, 'test/unit/tenants/life.test.js', 'test/unit/tenants/life-random.test.js'],
  18: ['test/unit/directory', 'test/nodes/directory-api.test.js'],
  20: DRIVERS
};

/** @param {number} criterion @returns {string[]} those of this version; empty: there is no such test */
const testFiles = (criterion) =>
  (tests[criterion] ?? []).filter((file) => fs.existsSync(path.join(root, file)));

/** @param {string[]} files */
const jestArguments = (files) => [RUN, 'node_modules/jest/bin/jest.js', '--silent', '--', ...files];

/** @param {number} criterion @returns {string} the command, '' = there is no such test */
function testCommand(criterion) {
  const files = testFiles(criterion);
  return files.length > 0 ? `node ${jestArguments(files).join(' ')}` : '';
}

/** @param {string[]} args @param {number} timeoutMs @param {string} name */
async function run(args, timeoutMs, name) {
  const child = new Child(process.execPath, args, { name, cwd: root });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const from = performance.now();
  const { code } = await child.exited;
  clearTimeout(timer);
  return { code, output: child.output, seconds: (performance.now() - from) / 1000 };
}

/**
 * Runs the tests of a criterion.
 * @param {number} criterion
 * @returns {Promise<{ passed: number, failed: number, skipped: number, seconds: number }>}
 */
async function runTests(criterion) {
  const { code, output, seconds } = await run(
    jestArguments(testFiles(criterion)),
    TEST_MS,
    `tests ${criterion}`
  );
  const [line = ''] = output.match(/^Tests:.*$/m) ?? [];
  const count = (/** @type {string} */ word) => Number(line.match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0);
  const found = { passed: count('passed'), failed: count('failed'), skipped: count('skipped'), seconds };
  if (code !== 0 && found.failed === 0) throw new Error(`The tests did not run: ${output.slice(-2000)}`);
  return found;
}

/** @param {string} question @param {string[]} args @returns {Promise<string>} its output */
async function ask(question, args) {
  const file = path.join('bench', 'questions', `${question}.js`);
  const { code, output } = await run([file, ...args], QUESTION_MS, question);
  if (code !== 0) throw new Error(`${file} failed: ${output.slice(-2000)}`);
  return output;
}

/** @param {number} rounds @returns {Promise<any[]>} what bench/questions/tenant-backup.js writes */
async function backup(rounds) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-backup-'));
  try {
    const file = path.join(folder, 'out.json');
    await ask('tenant-backup', ['--rounds', String(rounds), '--out', file]);
    return JSON.parse(fs.readFileSync(file, 'utf8')).map((/** @type {any} */ each) => ({ ...each, rounds }));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {number} points
 * @returns {Promise<{ perSecond: number, bytes: number, dayMs: number }>} the least favorable kind of values
 */
async function series(points) {
  const output = await ask('series', ['--points', String(points)]);
  const all = (/** @type {RegExp} */ pattern) =>
    [...output.matchAll(pattern)].map(([, value]) => Number(value));
  return {
    perSecond: Math.min(...all(/: (\d+) points a second \(/g)),
    bytes: Math.max(...all(/([\d.]+) bytes a point at the end/g)),
    dayMs: Math.max(...all(/one day of one series, all .*?: median ([\d.]+) ms/g))
  };
}

/** @typedef {Record<string, { p50: number, p99: number }>} Answers ms, by the number of things */

/**
 * Reads what bench/questions/directory.js prints: after a line with the number of things, a line for each question.
 * @param {string} text
 * @returns {{ stored: Answers, asked: Answers }} stored: the value is known; asked: the device is asked, which answers
 *   at once
 */
function readDirectory(text) {
  /** @type {{ stored: Answers, asked: Answers }} */
  const found = { stored: {}, asked: {} };
  let things = '';
  for (const line of text.split('\n')) {
    things = /^(\d+) things/.exec(line)?.[1] ?? things;
    const [, question = '', p50, p99] = /^ {2}(\S.*?) +p50 ([\d.]+) ms +p99 ([\d.]+) ms/.exec(line) ?? [];
    const answers = { p50: Number(p50), p99: Number(p99) };
    if (/ of room \d+/.test(question)) found.stored[things] = answers;
    else if (/device is asked/.test(question)) found.asked[things] = answers;
  }
  return found;
}

/** @returns {Promise<{ stored: Answers, asked: Answers, text: string }>} */
async function directory() {
  const text = (await ask('directory', [])).trim();
  return { ...readDirectory(text), text };
}

module.exports = {
  backup,
  series,
  directory,
  readDirectory,
  runTests,
  testCommand,
  testFiles,
  tests
};
