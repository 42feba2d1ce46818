'use strict';

// Builds the addon into build/Release unless the existing one is newer than every source. `--force` always builds;
// `--prebuild` also copies the binary to the place where the published package has it.
// Runs on any Node that node-gyp runs on. The addon uses Node-API, so it loads in newer Node versions too.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const target = require('./target');

/** Memory that the largest translation unit needs to compile. */
const COMPILER_BYTES = 400 * 2 ** 20;
const output = path.join(__dirname, 'build', 'Release', 'seganet.node');

/** @param {string} folder @returns {number} modification time of the newest file below it, ms */
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

/**
 * @returns {string} the folder of this Node if it includes headers, so that node-gyp need not download them; else ''
 */
function headers() {
  const folder = path.resolve(path.dirname(process.execPath), '..');
  return fs.existsSync(path.join(folder, 'include', 'node', 'node_api.h')) ? folder : '';
}

/** @returns {number} compiler processes: one per core, but no more than fit into the free memory of a small computer */
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
  console.log('native engine: building; this takes one to several minutes …');
  build();
  console.log(`native engine: ${path.relative(process.cwd(), output)}`);
}

if (process.argv.includes('--prebuild')) {
  const prebuilt = path.join(__dirname, 'prebuilds', `${target}.node`);
  fs.mkdirSync(path.dirname(prebuilt), { recursive: true });
  fs.copyFileSync(output, prebuilt);
  console.log(`native engine: ${path.relative(process.cwd(), prebuilt)}`);
}
