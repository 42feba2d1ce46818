'use strict';
// What an image needs below a program of Node: this machine's Node and shell, the libraries that they need, folders and
// users. Nothing is pulled.

const { execFileSync } = require('node:child_process');
const { CliError, messageOf } = require('../base/errors');

const NODE = '/usr/local/bin/node';
/** Tenants need it for their output. */
const SHELL = '/bin/sh';
/** The user of the tenants, see drivers/container.js. */
const USER = 1000;
/** Beside those of the files. An engine gives a file system in memory the mode of its folder. */
const FOLDERS = ['data', 'dev', 'proc', 'run/secrets/seganet', 'sys', 'tmp', 'var/tmp'];
const TEXTS = {
  'etc/passwd': `root:x:0:0::/:/bin/false\nnode:x:${USER}:${USER}::/data:/bin/false\n`,
  'etc/group': `root:x:0:\nnode:x:${USER}:\n`
};

/**
 * @param {string[]} [programs] more of them, and native addons, whose libraries are needed
 * @returns {Map<string, string>} path of the source, by path in the image
 * @throws {CliError}
 */
function systemFiles(programs = []) {
  const files = new Map([
    [NODE, process.execPath],
    [SHELL, SHELL]
  ]);
  try {
    const libraries = execFileSync('ldd', [process.execPath, SHELL, ...programs], { encoding: 'utf8' });
    for (const [file] of libraries.matchAll(/\/\S+\.so\S*(?= \()/g)) files.set(file, file);
  } catch (error) {
    throw new CliError(`The libraries of Node cannot be listed with ldd: ${messageOf(error)}`);
  }
  return files;
}

module.exports = { FOLDERS, NODE, SHELL, TEXTS, USER, systemFiles };
