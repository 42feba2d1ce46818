#!/usr/bin/env node
'use strict';
// seganet-net: sets a network interface up so that urgent packets go first. Everything it can do: seganet-net --help.

const { main } = require('../cli/main');
const { readArguments } = require('./cli/usage');
const { EXIT } = require('./trouble');

/** @type {Record<string, (options: import('./prepare').Options, output: import('../cli/output').Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./cli/plan').plan(...args),
  apply: (...args) => require('./cli/apply').apply(...args),
  check: (...args) => require('./cli/check').check(...args),
  undo: (...args) => require('./cli/undo').undo(...args)
};

/** @param {string[]} args @param {import('../cli/output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, text, options } = readArguments(args);
  if (options) return commands[command](options, output);
  output.line(text);
  return EXIT.OK;
}

if (require.main === module) main('seganet-net', run);

module.exports = { run };
