'use strict';
// seganet-passwd edits the files of device users and tokens. See seganet-passwd --help.

const { main: runMain, runner } = require('../../base/cli/cli-main');
const { readArguments } = require('./usage');

/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @type {Record<string, () => (input: import('./usage').Input, output: Output) => Promise<number>>} */
const commands = {
  add: () => require('./users').add,
  delete: () => require('./users').remove,
  list: () => require('./users').list,
  check: () => require('./users').check,
  token: () => require('./token').token
};

const run = runner(readArguments, async (command, input, output) => {
  return commands[command]()(input, output);
});

const main = () => runMain('seganet-passwd', run);

module.exports = { main, run };
