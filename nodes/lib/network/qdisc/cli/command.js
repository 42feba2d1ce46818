'use strict';
// seganet-net: configures a network interface to send urgent packets first. For its commands, see seganet-net --help.

const { main: runMain, runner } = require('../../../base/cli/cli-main');
const { refuseForeignState } = require('../../../base/cli/place');
const { readArguments } = require('./usage');

/** @typedef {import('../prepare-qdisc').Options} Options */
/** @typedef {import('../../../base/cli/cli-output').Output} Output */
/** @type {Record<string, (options: Options, output: Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./plan').plan(...args),
  apply: (...args) => require('./apply').apply(...args),
  check: (...args) => require('./check').check(...args),
  undo: (...args) => require('./undo').undo(...args)
};

const run = runner(readArguments, (command, options, output) => {
  refuseForeignState(options.stateDir);
  return commands[command](options, output);
});

const main = () => runMain('seganet-net', run);

module.exports = { main, run };
