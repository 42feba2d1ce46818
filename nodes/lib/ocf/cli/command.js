'use strict';
// seganet-accounts manages users and devices of the OCF cloud. See seganet-accounts --help.

const { main: runMain, runner } = require('../../base/cli/cli-main');
const { readArguments } = require('./usage');

const run = runner(readArguments, (command, input, output) =>
  require('./commands').execute(command, input, output)
);

const main = () => runMain('seganet-accounts', run);

module.exports = { main, run };
