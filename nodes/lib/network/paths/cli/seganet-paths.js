#!/usr/bin/env node
'use strict';
// seganet-paths: several ways to the broker, kept healthy for Multipath TCP. Everything it can do: seganet-paths --help.

const { main } = require('../../../base/cli/cli-main');
const { EXIT } = require('../../common/network-error');
const { readArguments } = require('./usage');

/** @typedef {import('./usage').Options} Options */
/** @type {Record<string, (options: Options, output: import('../../../base/cli/cli-output').Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./plan').plan(...args),
  apply: (...args) => require('./apply').apply(...args),
  check: (...args) => require('./check').check(...args),
  undo: (...args) => require('./undo').undo(...args),
  watch: (...args) => require('./watch').watch(...args)
};

/** @param {string[]} args @param {import('../../../base/cli/cli-output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, text, options } = readArguments(args);
  if (options) return commands[command](options, output);
  output.line(text);
  return EXIT.OK;
}

if (require.main === module) main('seganet-paths', run);

module.exports = { run };
