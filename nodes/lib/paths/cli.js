#!/usr/bin/env node
'use strict';
// seganet-paths: several ways to the broker, kept healthy for Multipath TCP. Everything it can do: seganet-paths --help.

const { main } = require('../cli/main');
const { EXIT } = require('../net/trouble');
const { readArguments } = require('./cli/usage');

/** @typedef {import('./cli/usage').Options} Options */
/** @type {Record<string, (options: Options, output: import('../cli/output').Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./cli/plan').plan(...args),
  apply: (...args) => require('./cli/apply').apply(...args),
  check: (...args) => require('./cli/check').check(...args),
  undo: (...args) => require('./cli/undo').undo(...args),
  watch: (...args) => require('./cli/watch').watch(...args)
};

/** @param {string[]} args @param {import('../cli/output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, text, options } = readArguments(args);
  if (options) return commands[command](options, output);
  output.line(text);
  return EXIT.OK;
}

if (require.main === module) main('seganet-paths', run);

module.exports = { run };
