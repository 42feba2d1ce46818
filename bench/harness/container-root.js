'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const NODE = '/usr/local/bin/node';
const SHELL = '/bin/sh';
const FOLDERS = [
  'bin',
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
const USERS = 'root:x:0:0::/:/bin/false\nnode:x:1000:1000::/data:/bin/false\n';
const GROUPS = 'root:x:0:\nnode:x:1000:\n';

/**
 * Makes a root file system for an image: this machine's Node and shell with the libraries that they
 * need. Nothing is pulled.
 * @param {string} folder
 */
function makeRoot(folder) {
  for (const each of FOLDERS) fs.mkdirSync(path.join(folder, each), { recursive: true });
  // An engine gives a file system in memory the mode of the folder in the image.
  fs.chmodSync(path.join(folder, 'tmp'), 0o1777);
  fs.copyFileSync(process.execPath, path.join(folder, NODE));
  fs.copyFileSync(SHELL, path.join(folder, SHELL));
  const libraries = execFileSync('ldd', [process.execPath, SHELL], { encoding: 'utf8' });
  for (const [file] of libraries.matchAll(/\/\S+\.so\S*/g)) {
    fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    fs.copyFileSync(file, path.join(folder, file));
  }
  fs.writeFileSync(path.join(folder, 'etc/passwd'), USERS);
  fs.writeFileSync(path.join(folder, 'etc/group'), GROUPS);
}

module.exports = { NODE, makeRoot };
