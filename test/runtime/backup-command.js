'use strict';
// Runs seganet-gateway backup and restore on folders of gateways that never ran.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { ROOT, temporaryFolder, cleanEnvironment } = require('./process');

const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');

/** @param {string[]} args */
function command(...args) {
  const env = cleanEnvironment();
  const ran = spawnSync(process.execPath, [COMMAND, ...args], { env, encoding: 'utf8', timeout: 20000 });
  return { code: ran.status, output: String(ran.stdout) + String(ran.stderr) };
}

/** A gateway's folder that never ran. */
function newHome() {
  const home = path.join(temporaryFolder(), 'gateway');
  expect(command('init', '--home', home)).toMatchObject({ code: 0 });
  return home;
}

/**
 * Backs up and restores.
 * @param {string} home
 * @returns {{ restored: string, output: string, restoring: string }} what the two commands printed
 */
function throughBackup(home) {
  const file = `${home}.backup`;
  const { code, output } = command('backup', file, '--home', home);
  expect({ code, output }).toMatchObject({ code: 0 });
  const restored = path.join(temporaryFolder(), 'gateway');
  const second = command('restore', file, '--home', restored);
  expect(second).toMatchObject({ code: 0 });
  return { restored, output, restoring: second.output };
}

/** @param {string} folder @returns {string[]} names of the files below it */
function filesIn(folder) {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return names.filter((name) => fs.statSync(path.join(folder, name)).isFile());
}

module.exports = { command, filesIn, newHome, throughBackup };
