'use strict';
// Compiles the benchmark's native programs when they are missing or older than their sources.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.join(__dirname, '..');

/** Where the programs are: beside their sources, or in the user's cache where a package is not the user's to write. */
function outFolder() {
  const own = path.join(root, '.build');
  try {
    fs.mkdirSync(own, { recursive: true });
    fs.accessSync(own, fs.constants.W_OK);
    return own;
  } catch {
    const cache = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
    const { version } = JSON.parse(fs.readFileSync(path.join(root, '..', 'package.json'), 'utf8'));
    return path.join(cache, 'seganet', `bench-${version}`);
  }
}

/**
 * @typedef {object} Program
 * @property {string[]} files to compile
 * @property {string[]} [libraries] what the linker is given, such as -lssl
 * @property {string} [debian] the package with the headers and libraries
 */

/** @type {Record<string, Program>} */
const programs = {
  loadgen: { files: ['loadgen/main.cc', 'loadgen/device.cc'] },
  sink: { files: ['sink/main.cc', 'sink/tally.cc'] },
  bare: { files: ['bare/main.cc'] },
  relay: { files: ['relay/main.cc', 'relay/pair.cc'] },
  coapgen: { files: ['coapgen/main.cc'] },
  coapbare: { files: ['coapbare/main.cc'] },
  agents: {
    files: ['agents/main.cc', 'agents/agent.cc'],
    libraries: ['-lssl', '-lcrypto', '-pthread'],
    debian: 'libssl-dev'
  },
  cpub: { files: ['cpub/main.cc'], libraries: ['-lssl', '-lcrypto'], debian: 'libssl-dev' },
  sysbench: { files: ['sysbench/main.cc'], libraries: ['-pthread'] }
};

/** The C++ compiler's command, or '' when there is none. */
function findCompiler() {
  for (const command of [process.env.CXX, 'c++', 'g++', 'clang++']) {
    if (!command) continue;
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' });
      return command;
    } catch {
      // the next one
    }
  }
  return '';
}

/** @param {string} folder @returns {number} newest modification time of its files, ms */
function newest(folder) {
  return Math.max(0, ...fs.readdirSync(folder).map((name) => fs.statSync(path.join(folder, name)).mtimeMs));
}

/**
 * @param {string} name one of `programs`
 * @returns {string} path of the program
 */
function build(name) {
  const out = outFolder();
  const target = path.join(out, name);
  const sourceTime = Math.max(newest(path.join(root, name)), newest(path.join(root, 'common')));
  if (fs.existsSync(target) && fs.statSync(target).mtimeMs > sourceTime) return target;
  const compiler = findCompiler();
  if (!compiler) throw new Error('No C++ compiler found. Install g++ (Debian: apt install g++) or set CXX.');
  fs.mkdirSync(out, { recursive: true });
  // Two runs may build at the same time: the last rename wins, and both are whole.
  const partial = `${target}.${process.pid}`;
  const flags = ['-std=c++20', '-O2', '-g', '-Wall', '-Wextra', '-o', partial];
  const { files, libraries = [] } = programs[name];
  execFileSync(compiler, [...flags, ...files.map((file) => path.join(root, file)), ...libraries], {
    stdio: 'inherit'
  });
  fs.renameSync(partial, target);
  return target;
}

module.exports = { build, findCompiler, outFolder, programs };
