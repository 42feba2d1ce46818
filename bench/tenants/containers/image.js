'use strict';
// An image of this machine's Node, the program of the comparison, and this gateway. Nothing is pulled.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { root } = require('../../harness/gateway');

const NODE = '/usr/local/bin/node';
const WORK = '/work.js';
const GATEWAY = '/gateway';
const FOLDERS = [
  'usr/local/bin',
  'etc',
  'tmp',
  'data',
  'proc',
  'sys',
  'dev',
  'run/secrets/seganet',
  'var/tmp'
];
/** What the gateway needs of this repository. */
const PARTS = [
  'nodes',
  'flows',
  'native/index.js',
  'native/target.js',
  'settings.js',
  'package.json',
  'node_modules'
];
/** Optional parts: the engine as it was built here, and as it is published. */
const ENGINES = ['native/build/Release', 'native/prebuilds'];
/** Large development dependencies. */
const LEFT_OUT = [
  'typescript',
  '@typescript',
  'playwright-core',
  'prettier',
  '@babel',
  '@types',
  'eslint',
  '.cache'
];

/** @param {string} folder gets a root file system without the gateway */
function makeRoot(folder) {
  for (const each of FOLDERS) fs.mkdirSync(path.join(folder, each), { recursive: true });
  // An engine gives a file system in memory the mode of the folder in the image.
  fs.chmodSync(path.join(folder, 'tmp'), 0o1777);
  fs.copyFileSync(process.execPath, path.join(folder, NODE));
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  for (const [file] of libraries.matchAll(/\/\S+\.so\S*/g)) {
    fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    fs.copyFileSync(file, path.join(folder, file));
  }
  fs.copyFileSync(path.join(__dirname, 'work.js'), path.join(folder, WORK));
  const users = 'root:x:0:0::/:/bin/false\nnode:x:1000:1000::/data:/bin/false\n';
  fs.writeFileSync(path.join(folder, 'etc/passwd'), users);
  fs.writeFileSync(path.join(folder, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
}

/**
 * @param {string} folder for files that the stream reads
 * @param {{ hasGateway: boolean }} options
 * @returns {NodeJS.ReadableStream} a tar file
 */
function pack(folder, { hasGateway }) {
  const made = path.join(folder, 'root');
  makeRoot(made);
  const engines = ENGINES.filter((each) => fs.existsSync(path.join(root, each)));
  const gateway = [
    '--dereference',
    ...LEFT_OUT.map((name) => `--exclude=node_modules/${name}`),
    `--transform=s,^\\(nodes\\|flows\\|native\\|settings.js\\|package.json\\|node_modules\\),${GATEWAY.slice(1)}/\\1,`,
    ...['-C', root, ...PARTS, ...engines]
  ];
  const args = ['-cf', '-', '-C', made, '.', ...(hasGateway ? gateway : [])];
  // A file may change or vanish meanwhile; what is needed is seen when the tenant starts.
  const child = spawn('tar', ['--warning=no-file-changed', ...args], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  return child.stdout;
}

const gatewayCommand = [NODE, '--max-semi-space-size=1', `${GATEWAY}/flows/launcher/start.js`];
const workCommand = [NODE, WORK];

module.exports = { pack, gatewayCommand, workCommand };
