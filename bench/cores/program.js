'use strict';
// Builds native/bench/cores_bench.cc with the compiler, the flags and the objects of this machine's engine, so that it
// measures the code that a gateway loads.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { localToolchain } = require('../../native/compiler');
const { outFolder } = require('../harness/build');

const native = path.join(__dirname, '..', '..', 'native');
const OBJECTS = path.join(native, 'build', 'Release', 'objects');
const LIBRARIES = ['-luv', '-lssl', '-lcrypto', '-lsqlite3', '-pthread'];
const PACKAGES = 'g++ libuv1-dev libssl-dev libsqlite3-dev';

/** @param {string[]} command @param {import('node:child_process').StdioOptions} [stdio] */
function run([command, ...args], stdio = ['ignore', 'ignore', 'pipe']) {
  const { status, stderr, error } = spawnSync(command, args, { cwd: native, encoding: 'utf8', stdio });
  if (status === 0) return;
  const why = (stderr || error?.message || `exit ${status}`).slice(0, 2000);
  throw new Error(`cores_bench could not be built. It needs ${PACKAGES} (Debian: apt install …).\n${why}`);
}

/** @param {string[]} files @returns {number} when the last of them changed, ms */
const changedAt = (files) => Math.max(...files.map((file) => fs.statSync(file).mtimeMs));

/**
 * Builds the engine if it is older than its sources, which takes minutes, and then the program.
 * @returns {string} its path
 */
function buildProgram() {
  run([process.execPath, path.join(native, 'build.js')], ['ignore', 2, 2]);
  const objects = fs
    .readdirSync(OBJECTS)
    .filter((name) => /^core-.*\.o$/.test(name))
    .map((name) => path.join(OBJECTS, name));
  const folder = path.join(native, 'bench', 'cores');
  const source = path.join(native, 'bench', 'cores_bench.cc');
  const sources = [source, ...fs.readdirSync(folder).map((name) => path.join(folder, name))];
  const program = path.join(outFolder(), 'cores_bench');
  if (fs.existsSync(program) && changedAt([program]) > changedAt([...objects, ...sources])) return program;
  const made = `${program}.${process.pid}`;
  try {
    const { compile, link } = localToolchain();
    run([...compile, source, '-o', `${made}.o`]);
    const flags = link.filter((each) => !/^-(shared|static)/.test(each));
    run([...flags, `${made}.o`, ...objects, ...LIBRARIES, '-o', made]);
    fs.renameSync(made, program);
  } finally {
    for (const file of [made, `${made}.o`, `${made}.d`]) fs.rmSync(file, { force: true });
  }
  return program;
}

module.exports = { buildProgram };
