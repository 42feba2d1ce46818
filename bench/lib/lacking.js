'use strict';
// What a system needs and this machine has not: '' or a sentence that says how to get it.

const { haveTool, python } = require('../../test/tools');
const { findCompiler } = require('./build');

/** @param {string} command @param {string} remedy */
const needsCommand = (command, remedy) =>
  haveTool(command) ? '' : `The command ${command} was not found. ${remedy}`;

const needsMosquitto = () => needsCommand('mosquitto', 'Debian: apt install mosquitto.');

const needsCompiler = () =>
  findCompiler() ? '' : 'No C++ compiler was found. Debian: apt install g++, or set CXX.';

/** @param {string} module @param {string} remedy */
const needsPython = (module, remedy) =>
  haveTool(`python:${module}`) ? '' : `${python()} has no module ${module}. ${remedy}`;

module.exports = { needsCommand, needsMosquitto, needsCompiler, needsPython };
