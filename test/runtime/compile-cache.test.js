'use strict';
// Compiled code of the modules, as the launcher keeps it.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const FILE = require.resolve('../../flows/launcher/compile-cache');

/** @type {string} */
let home;
/** @type {string} */
let cache;
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-compiled-'));
  cache = path.join(home, 'compile-cache');
  fs.writeFileSync(path.join(home, 'module.js'), 'exports.value = () => 1;');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

/**
 * A run of a program that loads a module.
 * @param {Record<string, string>} [env]
 * @returns {string[]} what is in the cache
 */
function run(env = {}) {
  const code = `const { useCompileCache, writeCompileCache } = require(${JSON.stringify(FILE)});
useCompileCache();
require(${JSON.stringify(path.join(home, 'module.js'))}).value();
writeCompileCache();`;
  const { PATH = '' } = process.env;
  execFileSync(process.execPath, ['-e', code], { env: { PATH, SEGANET_HOME: home, ...env }, stdio: 'pipe' });
  const stat = fs.statSync(cache, { throwIfNoEntry: false });
  if (!stat) return ['none'];
  return stat.isDirectory() ? fs.readdirSync(cache) : ['a file'];
}

test('the first run makes a private folder, and the second one writes there', () => {
  expect(run()).toEqual([]);
  expect(fs.statSync(cache).mode & 0o777).toBe(0o700);
  const [version, ...others] = run();
  expect(others).toEqual([]);
  expect(version).toMatch(`${process.version}-`);
  expect(fs.readdirSync(path.join(cache, version)).length).toBeGreaterThan(0);
});

test('the code of former versions of Node is removed', () => {
  fs.mkdirSync(path.join(cache, 'v22.9.0-x64-1234-0'), { recursive: true });
  expect(run()).toEqual([expect.stringContaining(`${process.version}-`)]);
});

test('another cache is neither replaced nor cleaned', () => {
  const other = path.join(home, 'other');
  fs.mkdirSync(path.join(other, 'v22.9.0-x64-1234-0'), { recursive: true });
  expect(run({ NODE_COMPILE_CACHE: other })).toEqual(['none']);
  expect(fs.readdirSync(other)).toHaveLength(2);
});

test.each(['.', 'compile-cache'])('nothing is read where other users may write: %s', (name) => {
  expect(run()).toEqual([]);
  fs.chmodSync(path.join(home, name), 0o777);
  expect(run()).toEqual([]);
  fs.chmodSync(path.join(home, name), 0o700);
  expect(run()).toHaveLength(1);
});

test('none is used where a user wants none, or where it cannot be', () => {
  expect(run({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(['none']);
  fs.writeFileSync(cache, 'a file');
  expect(run()).toEqual(['a file']);
});
