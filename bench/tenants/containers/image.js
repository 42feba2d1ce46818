'use strict';
// An image of this machine's Node, the program of the comparison, and this gateway. Nothing is pulled.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NODE, makeRoot } = require('../../harness/container-root');
const { root } = require('../../harness/gateway');
const published = require('../../../package.json');

const WORK = '/work.js';
const GATEWAY = '/gateway';
/** What the gateway needs of this repository: what is published, and its dependencies. */
const PARTS = [
  ...published.files.filter((part) => !part.startsWith('!') && /^(nodes|flows|native|settings)\b/.test(part)),
  'package.json',
  'node_modules'
];
/** The engine as it was built here; beside it, or instead, there may be prebuilt ones. */
const ENGINE = 'native/build/Release';
/** Large development dependencies. */
const LEFT_OUT = [
  'typescript',
  '@typescript',
  'playwright-core',
  'prettier',
  '@babel/[!r]*', // mqtt.js needs @babel/runtime
  '@duckdb',
  '@types',
  'eslint',
  '.cache'
];

/** @param {string} folder gets a root file system without the gateway */
function makeBase(folder) {
  makeRoot(folder);
  fs.copyFileSync(path.join(__dirname, 'work.js'), path.join(folder, WORK));
}

/**
 * @param {string} folder for files that the stream reads
 * @param {{ hasGateway: boolean }} options
 * @returns {NodeJS.ReadableStream} a tar file
 */
function pack(folder, { hasGateway }) {
  const made = path.join(folder, 'root');
  makeBase(made);
  const parts = [...PARTS, ENGINE].filter((each) => fs.existsSync(path.join(root, each)));
  const gateway = [
    '--dereference',
    ...LEFT_OUT.map((name) => `--exclude=node_modules/${name}`),
    `--transform=s,^\\(nodes\\|flows\\|native\\|settings.js\\|package.json\\|node_modules\\),${GATEWAY.slice(1)}/\\1,`,
    ...['-C', root, ...parts]
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
