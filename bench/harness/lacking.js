'use strict';
// Tests the requirements of a system: returns '', or a sentence with what is missing and how to get it.

const fs = require('node:fs');
const { haveTool, python } = require('./tools');
const { findCompiler } = require('./build');

/** @param {string} command @param {string} remedy */
const needsCommand = (command, remedy) =>
  haveTool(command) ? '' : `The command ${command} was not found. ${remedy}`;

const needsMosquitto = () => needsCommand('mosquitto', 'Debian: apt install mosquitto.');

const needsCompiler = () =>
  findCompiler() ? '' : 'No C++ compiler was found. Debian: apt install g++, or set CXX.';

const headers = ['/usr/include/openssl/ssl.h', '/usr/local/include/openssl/ssl.h'];

/** Tests for a compiler and OpenSSL's headers. A user who sets CXX or CPATH is responsible for the headers. */
function needsOpenssl() {
  const { CPATH, CXX } = process.env;
  if (needsCompiler() || CPATH || CXX || headers.some((file) => fs.existsSync(file))) return needsCompiler();
  return "OpenSSL's headers were not found. Debian: apt install libssl-dev.";
}

/** @param {string} module @param {string} remedy */
const needsPython = (module, remedy) =>
  haveTool(`python:${module}`) ? '' : `${python()} has no module ${module}. ${remedy}`;

/** @param {string} chapter whose modules use SQLite */
function needsNode(chapter) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 16)) return '';
  return `It needs Node.js 22.16 or newer, and this is ${process.version}: node native/node/run.js bench/main.js --only ${chapter}`;
}

module.exports = { needsCommand, needsMosquitto, needsCompiler, needsNode, needsOpenssl, needsPython };
