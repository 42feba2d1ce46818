'use strict';
// The tests themselves on a machine that has only the results of `npm install`: they pass or are skipped by name.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { bare, HIDDEN } = require('../fixtures/gateway/bare');
const { needs } = require('../../bench/harness/tools');

const root = path.join(__dirname, '..', '..');
const jestCommand = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const isRoot = process.getuid?.() === 0;
const { test } = needs('unshare', 'mount', ...(isRoot ? [] : ['root']));

/** @param {string[]} args of Jest */
function runBare(...args) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bare-'));
  try {
    const file = path.join(folder, 'results.json');
    const env = { ...process.env, SEGANET_PYTHON: '/nowhere/python3', SEGANET_REQUIRE_TOOLS: '0' };
    const options = ['--json', `--outputFile=${file}`, '--maxWorkers=1', '--forceExit', ...args];
    const [command, given] = bare([process.execPath, jestCommand, ...options]);
    const how = {
      cwd: root,
      env,
      encoding: /** @type {const} */ ('utf8'),
      maxBuffer: 1 << 27,
      timeout: 250000
    };
    const { stderr } = spawnSync(command, given, how);
    if (!fs.existsSync(file)) throw new Error(stderr.slice(-4000));
    const { testResults: suites, ...sums } = JSON.parse(fs.readFileSync(file, 'utf8'));
    const failed = suites.filter((/** @type {any} */ { status }) => status === 'failed');
    const failures = failed.map(
      (/** @type {any} */ { name, message }) => `${path.relative(root, name)}: ${message}`
    );
    return { failures, stderr, sums };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** @param {RegExp} text @returns {string[]} the suites that have it */
function suitesWith(text) {
  return fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => path.join('test', name))
    .filter((name) => text.test(fs.readFileSync(path.join(root, name), 'utf8')));
}

test('every suite that makes certificates says that it needs a tool', () => {
  const made = /\bmakeCertificates\(/;
  const suites = suitesWith(made).filter(
    (name) => !/\bneeds\(/.test(fs.readFileSync(path.join(root, name), 'utf8'))
  );
  expect(suitesWith(made).length).toBeGreaterThan(5);
  expect(suites).toEqual([]);
});

test('finds none of the hidden tools', () => {
  const look = HIDDEN.map((tool) => `command -v ${tool}`).join(';');
  const [command, args] = bare(['sh', '-c', `${look}; command -v sh`]);
  expect(spawnSync(command, args, { encoding: 'utf8' }).stdout.trim()).toMatch(/^\S*\/sh$/);
});

test('loads every suite without its tools, and names the missing ones', () => {
  const suites = suitesWith(/\bneeds\(/);
  expect(suites.length).toBeGreaterThan(40);
  const { failures, stderr } = runBare('--testNamePattern', '^no test has this name$', ...suites);
  expect(failures).toEqual([]);
  for (const tool of ['chromium', 'mosquitto', 'openssl', 'python:aiocoap', 'ip'])
    expect(stderr).toMatch(new RegExp(`skipped in \\S+: needs [^\\n]*${tool}[^\\n]*, not installed`));
}, 300000);

test('passes suites that mix tests with and without tools', () => {
  const suites = [
    ...['unit/bench/tools', 'unit/uplink/express-ends', 'unit/uplink/session', 'unit/login/passwd'],
    ...['nodes/sources', 'native/socket-open', 'native/build', 'editor/editor'],
    ...['system/mqtt-source', 'system/mqtt-clients', 'system/bench/faults']
  ].map((name) => path.join('test', `${name}.test.js`));
  expect(suites.filter((name) => !fs.existsSync(path.join(root, name)))).toEqual([]);
  const { failures, sums } = runBare('--runTestsByPath', ...suites);
  expect(failures).toEqual([]);
  expect(sums.numPassedTests).toBeGreaterThan(20);
  expect(sums.numPendingTests).toBeGreaterThan(20);
}, 300000);
