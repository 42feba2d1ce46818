'use strict';
// The programs of the chapter overlay, built with Go on first use: the overlay, its lab, the load, and other systems.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { FLAGS, FOLDER, findGo } = require('../../../native/overlay/go');
const { outFolder } = require('../../harness/build');

const PEERS = path.join(__dirname, '../peers');
const NEBULA = 'github.com/slackhq/nebula/cmd';
const MOST_OUTPUT = 1 << 20;

/** The folder of a Go module and the package in it. @type {Record<string, [string, string]>} */
const packages = {
  'seganet-overlay': [FOLDER, '.'],
  lab: [FOLDER, './lab'],
  load: [PEERS, './load'],
  wireguard: [PEERS, './wireguard'],
  bounded: [PEERS, './bounded'],
  nebula: [PEERS, `${NEBULA}/nebula`],
  'nebula-cert': [PEERS, `${NEBULA}/nebula-cert`]
};

/** @type {Map<string, string>} */
const built = new Map();

/** @returns {NodeJS.ProcessEnv} of Go: static programs, no other toolchain, no change of go.mod */
const goEnv = () => ({
  ...process.env,
  CGO_ENABLED: '0',
  GOTOOLCHAIN: 'local',
  GOFLAGS: `-mod=readonly ${FLAGS}`
});

/**
 * Builds a program, once in the life of this process. Go compiles only what has changed.
 * @param {string} name @returns {string} its path
 */
function program(name) {
  const own = name === 'seganet-overlay' ? process.env.SEGANET_OVERLAY : '';
  const known = own || built.get(name);
  if (known) return known;
  const [cwd, folder] = packages[name];
  const file = path.join(outFolder(), 'overlay', name);
  const { status, stderr, error } = spawnSync(findGo(), ['build', '-ldflags=-s -w', '-o', file, folder], {
    cwd,
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT,
    env: goEnv()
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${name} could not be built: ${stderr.slice(-2000)}`);
  built.set(name, file);
  return file;
}

/** @type {string | undefined} */
let lacking;

/** @returns {string} '' if the programs can be built */
const lackingGo = () => (lacking ??= findLacking());

/** @returns {string} */
function findLacking() {
  if (!fs.existsSync(path.join(FOLDER, 'go.mod'))) return 'It needs a checkout of the repository.';
  try {
    findGo();
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/** @returns {string} boringtun's program, '' = not installed */
function findBoringtun() {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), path.join(os.homedir(), '.cargo/bin')];
  return (
    folders.map((folder) => path.join(folder, 'boringtun-cli')).find((file) => fs.existsSync(file)) ?? ''
  );
}

module.exports = { findBoringtun, goEnv, lackingGo, program };
