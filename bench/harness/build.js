'use strict';
// Compiles the benchmark's native programs when they are missing or older than their sources.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.join(__dirname, '..');

/**
 * @typedef {object} Program
 * @property {string[]} files to compile; a change of any file in their folders or in common/ triggers a rebuild
 * @property {boolean} [together] compile as one translation unit, in half of the time. REQUIRES: no duplicate name in
 *           unnamed namespaces
 * @property {string[]} [libraries] for the linker, such as -lssl
 * @property {string} [debian] the package with headers and libraries, for the error message
 */

/** @type {Record<string, Program>} */
const programs = {
  loadgen: {
    files: ['main.cc', 'load.cc', 'device.cc', 'schedule.cc', 'rate.cc', 'options.cc'].map(
      (file) => `loadgen/${file}`
    ),
    together: true
  },
  sink: { files: ['sink/main.cc', 'sink/tally.cc', 'sink/tally_json.cc'], together: true },
  bare: { files: ['bare/main.cc'] },
  coapgen: {
    files: [
      'coapgen/main.cc',
      'coapgen/connection.cc',
      'coapgen/device.cc',
      'coapgen/notices.cc',
      'coapgen/settings.cc',
      'loadgen/schedule.cc',
      'loadgen/rate.cc'
    ]
  },
  coapbare: { files: ['coapbare/main.cc'] },
  agents: {
    files: ['agents/main.cc', 'agents/agent.cc'],
    libraries: ['-lssl', '-lcrypto', '-pthread'],
    debian: 'libssl-dev'
  },
  cpub: { files: ['cpub/main.cc'], libraries: ['-lssl', '-lcrypto'], debian: 'libssl-dev' },
  sysbench: { files: ['sysbench/main.cc'], libraries: ['-pthread'] }
};

/** Returns the C++ compiler's command, or '' if there is none. */
function findCompiler() {
  for (const command of [process.env.CXX, 'c++', 'g++', 'clang++']) {
    if (!command) continue;
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' });
      return command;
    } catch {
      // try the next one
    }
  }
  return '';
}

/**
 * Returns the folder of the programs: beside the sources, or in the user's cache if the package is not writable, as
 * after `sudo npm install -g`.
 * @param {NodeJS.ProcessEnv} [env] @param {string} [folder] of the sources
 */
function outFolder(env = process.env, folder = root) {
  try {
    const own = path.join(folder, '.build');
    if (!fs.existsSync(own)) fs.mkdirSync(own);
    fs.accessSync(own, fs.constants.W_OK);
    return own;
  } catch {
    const cache = env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache');
    // Files of a package have no useful times, so each version has its own folder.
    const { version } = JSON.parse(fs.readFileSync(path.join(root, '../package.json'), 'utf8'));
    const shared = path.join(cache, 'seganet-bench', version);
    fs.mkdirSync(shared, { recursive: true });
    return shared;
  }
}

/** @param {string} folder @returns {number} latest modification time of its files, ms */
function newest(folder) {
  return Math.max(0, ...fs.readdirSync(folder).map((name) => fs.statSync(path.join(folder, name)).mtimeMs));
}

/**
 * @param {string} name of the program @param {Program} program @param {string} folder of the sources
 * @param {string} target
 */
function compile(name, { files, together, libraries = [], debian }, folder, target) {
  const compiler = findCompiler();
  if (!compiler) throw new Error('No C++ compiler found. Install g++ (Debian: apt install g++) or set CXX.');
  // Two runs may build at the same time: the last rename wins, and either file is complete.
  const partial = `${target}.${process.pid}`;
  const flags = ['-std=c++20', '-O2', '-g', '-Wall', '-Wextra', '-o', partial];
  const sources = files.map((file) => path.join(folder, file));
  const input = together ? sources.map((file) => `#include ${JSON.stringify(file)}\n`).join('') : '';
  const given = together ? ['-x', 'c++', '-', '-x', 'none'] : sources;
  const { status, stderr } = spawnSync(compiler, [...flags, ...given, ...libraries], {
    encoding: 'utf8',
    input
  });
  if (stderr) process.stderr.write(stderr);
  if (status === 0) {
    fs.renameSync(partial, target);
    return;
  }
  fs.rmSync(partial, { force: true });
  const missing =
    /cannot find -l|unable to find library|library not found|No such file or directory|file not found/.test(
      stderr ?? ''
    );
  const remedy = debian && missing ? ` It needs ${debian} (Debian: apt install ${debian}).` : '';
  throw new Error(
    `The benchmark's program ${name} could not be built.${remedy}\n${(stderr ?? '').slice(0, 2000)}`
  );
}

/**
 * @param {string} name one of `programs`
 * @param {{program?: Program, folder?: string}} [other] for tests: another program in another folder
 * @returns {string} path of the program
 */
function build(name, { program = programs[name], folder = root } = {}) {
  if (!program) throw new Error(`There is no program '${name}'.`);
  const target = path.join(outFolder(process.env, folder), name);
  const folders = new Set([...program.files.map((file) => path.dirname(file)), 'common']);
  const sourceTime = Math.max(...[...folders].map((part) => newest(path.join(folder, part))));
  if (!fs.existsSync(target) || fs.statSync(target).mtimeMs <= sourceTime) {
    compile(name, program, folder, target);
  }
  return target;
}

module.exports = { build, findCompiler, outFolder, programs };
