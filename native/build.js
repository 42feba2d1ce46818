'use strict';

// Builds the addon into build/Release, unless it is there and newer than every source. `--force` builds anyway;
// `--prebuild` also puts the binary where the published package has it.
// Runs on any Node that node-gyp runs on: the addon is Node-API and loads in newer ones too.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const target = require('./target');

/** Memory that the largest translation unit takes. */
const COMPILER_BYTES = 400 * 2 ** 20;
const output = path.join(__dirname, 'build', 'Release', 'seganet.node');

/** @param {string} folder @returns {number} time of the newest file below it, ms */
function newest(folder) {
  return Math.max(
    ...fs.readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const name = path.join(folder, entry.name);
      return entry.isDirectory() ? newest(name) : fs.statSync(name).mtimeMs;
    })
  );
}

function upToDate() {
  if (process.argv.includes('--force') || !fs.existsSync(output)) return false;
  const changed = Math.max(
    newest(path.join(__dirname, 'core')),
    newest(path.join(__dirname, 'binding')),
    fs.statSync(path.join(__dirname, 'binding.gyp')).mtimeMs
  );
  return fs.statSync(output).mtimeMs > changed;
}

/** Headers that lie beside this Node spare node-gyp the download. */
function headers() {
  const folder = path.resolve(path.dirname(process.execPath), '..');
  return fs.existsSync(path.join(folder, 'include', 'node', 'node_api.h')) ? folder : '';
}

/** Compilers at once: one for each core, but no more than fit into the memory of a small computer. */
function parallelJobs() {
  const cores = os.cpus().length || 1;
  return Math.max(1, Math.min(cores, Math.floor(os.freemem() / COMPILER_BYTES)));
}

function build() {
  const gyp = require.resolve('node-gyp/bin/node-gyp.js');
  const env = { ...process.env };
  const nodedir = headers();
  if (nodedir) env.npm_package_config_node_gyp_nodedir = nodedir;
  const jobs = process.env.JOBS || String(parallelJobs());
  const done = spawnSync(process.execPath, [gyp, 'rebuild', '--release', '--jobs', jobs], {
    cwd: __dirname,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 26
  });
  if (done.status === 0) return;
  process.stderr.write(`${done.stdout || ''}${done.stderr || ''}${done.error ? String(done.error) : ''}\n`);
  process.stderr.write(
    'The native engine could not be built. It needs a C++20 compiler (g++ 11 or clang 14 and newer), make and python3:\n' +
      '  Debian, Raspberry Pi OS: sudo apt-get install g++ make python3\n'
  );
  process.exit(done.status || 1);
}

if (upToDate()) {
  console.log('native engine: up to date');
} else {
  console.log('native engine: building; this takes one to several minutes, depending on the computer …');
  build();
  console.log(`native engine: ${path.relative(process.cwd(), output)}`);
}

if (process.argv.includes('--prebuild')) {
  const prebuilt = path.join(__dirname, 'prebuilds', `${target}.node`);
  fs.mkdirSync(path.dirname(prebuilt), { recursive: true });
  fs.copyFileSync(output, prebuilt);
  console.log(`native engine: ${path.relative(process.cwd(), prebuilt)}`);
}
