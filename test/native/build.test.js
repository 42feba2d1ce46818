'use strict';
// native/build.js with a small addon of its own, beside the real node_modules.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../bench/harness/tools');

const { test } = needs('c++');
const root = path.join(__dirname, '..', '..');
const SCRIPTS = ['build.js', 'compile.js', 'compiler.js', 'joined.js', 'sources.js', 'target.js'];
const HEADER = 'core/answer.h';
const FILES = {
  [HEADER]: 'inline int Answer() { return 41; }\n',
  'core/plain.cc': 'int Plain() { return 1; }\n',
  'binding/addon.cc': `#include <napi.h>
#include <uv.h>
#include <openssl/ssl.h>
#include "core/answer.h"
int Plain();
static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("answer", Napi::Number::New(env, Answer() + Plain()));
  exports.Set("uv", Napi::String::New(env, uv_version_string()));
  return exports;
}
NODE_API_MODULE(small, Init)
`,
  ...Object.fromEntries(
    Array.from({ length: 9 }, (_, i) => [`core/many/${i}.cc`, `int Many${i}() { return ${i}; }\n`])
  )
};

/** @type {string} */
let folder;
beforeEach(() => {
  // A space in the path, as in many home folders.
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet build-'));
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  for (const part of ['native/core/many', 'native/binding'])
    fs.mkdirSync(path.join(folder, part), { recursive: true });
  for (const name of SCRIPTS) fs.copyFileSync(path.join(root, 'native', name), inNative(name));
  for (const [name, text] of Object.entries(FILES)) fs.writeFileSync(inNative(name), text);
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/** @param {string} name @returns {string} */
const inNative = (name) => path.join(folder, 'native', name);
/** @param {string} unit @returns {number} */
const compiledAt = (unit) => fs.statSync(inNative(`build/Release/objects/${unit}.o`)).mtimeMs;

/** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
function build(args = [], env = {}) {
  const options = { env: { ...process.env, ...env }, encoding: /** @type {const} */ ('utf8') };
  const { status, stdout, stderr } = spawnSync(process.execPath, [inNative('build.js'), ...args], options);
  return { status, stdout, stderr };
}

/** @returns {{answer: number, uv: string}} what the addon exports, seen by a process of its own */
function loaded() {
  const addon = inNative('build/Release/seganet.node');
  const script = `console.log(JSON.stringify(require(${JSON.stringify(addon)})))`;
  return JSON.parse(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' }).stdout);
}

test('compiles, then only what changed', () => {
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(loaded()).toEqual({ answer: 42, uv: process.versions.uv });
  expect(build().stdout).toBe('native engine: up to date\n');

  // The nine files of a folder are in two units.
  const objects = fs.readdirSync(inNative('build/Release/objects')).filter((name) => name.endsWith('.o'));
  expect(new Set(objects)).toEqual(new Set(['binding.o', 'core.o', 'core-many.o', 'core-many-2.o']));
  const before = { addon: compiledAt('binding'), plain: compiledAt('core'), many: compiledAt('core-many-2') };
  fs.writeFileSync(inNative(HEADER), 'inline int Answer() { return 6; }\n');
  expect(build().status).toBe(0);
  expect(loaded().answer).toBe(7);
  expect(compiledAt('core')).toBe(before.plain);
  expect(compiledAt('binding')).toBeGreaterThan(before.addon);
  fs.appendFileSync(inNative('core/many/0.cc'), '\n');
  expect(build().status).toBe(0);
  expect(compiledAt('core-many')).toBeGreaterThan(compiledAt('binding'));
  expect(compiledAt('core-many-2')).toBe(before.many);
  // Objects of other flags are not mixed with these.
  expect(build([], { CXXFLAGS: '-DOTHER' }).stdout).toBe('native engine: up to date\n');
  fs.appendFileSync(inNative(HEADER), '\n');
  expect(build([], { CXXFLAGS: '-DOTHER' }).status).toBe(0);
  expect(compiledAt('core')).toBeGreaterThan(before.plain);
}, 120000);

test('shows the error of the compiler, and leaves the addon alone', () => {
  expect(build().status).toBe(0);
  fs.writeFileSync(inNative('core/plain.cc'), 'int Plain() { return nothing; }\n');
  const { status, stderr } = build();
  expect(status).toBe(1);
  expect(stderr).toMatch(/core\/plain\.cc:1:\d+: error: .*nothing/);
  expect(stderr).toContain('The native engine could not be built. It needs a C++20 compiler');
  expect(loaded().answer).toBe(42);
  fs.writeFileSync(inNative('core/plain.cc'), FILES['core/plain.cc']);
  expect(build().status).toBe(0);
}, 120000);

test('says that there is no compiler', () => {
  const { status, stderr } = build([], { CXX: '/nowhere/c++ -m64' });
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^no C\+\+ compiler: \/nowhere\/c\+\+ -m64 cannot run\nThe native engine could not be built/
  );
});
