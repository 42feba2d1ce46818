'use strict';
// What a system needs and this machine has not: '' or a sentence that says how to get it.

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

/** A compiler and what it needs for TLS. Who names a compiler or its folders knows where the headers are. */
function needsOpenssl() {
  const { CPATH, CXX } = process.env;
  if (needsCompiler() || CPATH || CXX || headers.some((file) => fs.existsSync(file))) return needsCompiler();
  return "OpenSSL's headers were not found. Debian: apt install libssl-dev.";
}

/** @param {string} module @param {string} remedy */
const needsPython = (module, remedy) =>
  haveTool(`python:${module}`) ? '' : `${python()} has no module ${module}. ${remedy}`;

module.exports = { needsCommand, needsMosquitto, needsCompiler, needsOpenssl, needsPython };
