'use strict';
// seganet-passwd edits the files of device users and tokens. See seganet-passwd --help.

const fs = require('node:fs');
const { main: runMain, runner } = require('../../base/cli/cli-main');
const { workAsOwnerOfFile } = require('../../base/cli/rights');
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
  // Both before the rights of the file's owner are taken, who may not be able to read them.
  const work = commands[command]();
  const passwordFd = input.passwordFile ? fs.openSync(input.passwordFile, 'r') : -1;
  workAsOwnerOfFile(input.file, { isDatabase: false });
  return work({ ...input, passwordFd }, output);
});

const main = () => runMain('seganet-passwd', run);

module.exports = { main, run };
