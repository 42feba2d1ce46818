#!/usr/bin/env node
'use strict';
// seganet-net: sets a network interface up so that urgent packets go first. Everything it can do: seganet-net --help.

const { main } = require('../../../base/cli/cli-main');
const { readArguments } = require('./usage');
const { EXIT } = require('../../common/network-error');

/** @type {Record<string, (options: import('../prepare-qdisc').Options, output: import('../../../base/cli/cli-output').Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./plan').plan(...args),
  apply: (...args) => require('./apply').apply(...args),
  check: (...args) => require('./check').check(...args),
  undo: (...args) => require('./undo').undo(...args)
};

/** @param {string[]} args @param {import('../../../base/cli/cli-output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, text, options } = readArguments(args);
  if (options) return commands[command](options, output);
  output.line(text);
  return EXIT.OK;
}

if (require.main === module) main('seganet-net', run);

module.exports = { run };
