'use strict';
// Tests that need a tool that `npm install` does not install are skipped with a notice if it is missing.
// With SEGANET_REQUIRE_TOOLS=1 (CI) they fail instead.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** Alternative names of a tool. @type {Record<string, string[]>} */
const aliases = { 'c++': ['c++', 'g++', 'clang++'] };

/**
 * Further tools that a tool depends on: openssl creates the certificates of the brokers.
 * @type {Record<string, string[]>}
 */
const besides = { mosquitto: ['openssl'] };

/** The Python interpreter with the packages of .ci/python, if they were installed. @returns {string} */
const python = () => process.env.SEGANET_PYTHON || 'python3';

/** @type {Map<string, boolean>} */
const modules = new Map();

/** @param {string} module @returns {boolean} */
function havePythonModule(module) {
  const key = `${python()} ${module}`;
  let found = modules.get(key);
  if (found === undefined) {
    // find_spec instead of an import, which takes a second for bumble.
    const look = 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)';
    found = spawnSync(python(), ['-c', look, module], { stdio: 'ignore' }).status === 0;
    modules.set(key, found);
  }
  return found;
}

/** @param {string} name A command, `python:MODULE`, or the absolute path of a file. @returns {boolean} */
function haveTool(name) {
  if (path.isAbsolute(name)) return fs.existsSync(name);
  if (name.startsWith('python:')) return havePythonModule(name.slice('python:'.length));
  // Debian installs mosquitto in /usr/sbin, which is not in a user's PATH.
  const folders = [...(process.env.PATH || '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];
  return (aliases[name] || [name]).some((command) =>
    folders.some((folder) => {
      try {
        fs.accessSync(path.join(folder, command), fs.constants.X_OK);
        return true;
      } catch {
        return false;
      }
    })
  );
}

/**
 * A replacement for one of Jest's functions that skips the tests or makes them fail, with the same members.
 * @param {(name: string, body?: any, timeout?: number) => void} one
 * @param {(...table: any[]) => (name: string, body: any, timeout?: number) => void} each
 */
function standIn(one, each) {
  const stub = Object.assign(one, { each });
  return Object.assign(stub, { only: stub, skip: stub, failing: stub, concurrent: stub, todo: stub });
}

/** @param {jest.Describe | jest.It} original @param {string} why */
function skipping(original, why) {
  const renamed = (/** @type {string} */ name) => `${name} [skipped: ${why}]`;
  const { skip } = /** @type {jest.It} */ (original);
  return standIn(
    (name, body, timeout) => skip(renamed(name), body ?? (() => {}), timeout),
    (...table) => {
      const each = /** @type {any} */ (skip.each)(...table);
      return (name, body, timeout) => each(renamed(name), body, timeout);
    }
  );
}

/** @param {string} why */
function failing(why) {
  const fail = (/** @type {string} */ name) =>
    global.test(`${name} [${why}]`, () => {
      throw new Error(`${why}, and SEGANET_REQUIRE_TOOLS=1 does not allow skipping`);
    });
  return standIn(fail, () => fail);
}

/**
 * `const { describe, test } = needs('mosquitto', 'python:aiocoap');` shadows Jest's own functions.
 * @param {...string} tools
 * @returns {{ describe: jest.Describe, test: jest.It, missing: string[] }}
 */
function needs(...tools) {
  const wanted = new Set(tools.flatMap((tool) => [tool, ...(besides[tool] ?? [])]));
  const missing = [...wanted].filter((tool) => !haveTool(tool));
  if (missing.length === 0) return { describe: global.describe, test: global.test, missing };
  const why = `needs ${missing.join(', ')}, not installed`;
  if (process.env.SEGANET_REQUIRE_TOOLS === '1') {
    const fail = /** @type {any} */ (failing(why));
    return { describe: fail, test: fail, missing };
  }
  // Jest lists skipped tests only when it runs a single file.
  process.stderr.write(`skipped in ${path.basename(global.expect.getState().testPath ?? '')}: ${why}\n`);
  return {
    describe: /** @type {any} */ (skipping(global.describe, why)),
    test: /** @type {any} */ (skipping(global.test, why)),
    missing
  };
}

module.exports = { needs, haveTool, python };
