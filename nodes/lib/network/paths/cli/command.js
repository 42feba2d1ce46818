'use strict';
// seganet-paths: keeps several paths to the broker healthy for Multipath TCP. See seganet-paths --help for its
// commands.

const { main: runMain, runner } = require('../../../base/cli/cli-main');
const { refuseForeignState } = require('../../../base/cli/place');
const { readArguments } = require('./usage');

/** @typedef {import('./usage').Options} Options */
/** @typedef {import('../../../base/cli/cli-output').Output} Output */
/** @type {Record<string, (options: Options, output: Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./plan').plan(...args),
  apply: (...args) => require('./apply').apply(...args),
  check: (...args) => require('./check').check(...args),
  undo: (...args) => require('./undo').undo(...args),
  watch: (...args) => require('./watch').watch(...args)
};

const run = runner(readArguments, (command, options, output) => {
  refuseForeignState(options.stateDir);
  return commands[command](options, output);
});

const main = () => runMain('seganet-paths', run);

module.exports = { main, run };
