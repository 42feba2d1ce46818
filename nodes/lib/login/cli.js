#!/usr/bin/env node
'use strict';
// seganet-passwd: keeps the file of users and passwords of devices. Everything it can do: seganet-passwd --help.

const { main } = require('../cli/main');
const { HELP, readArguments } = require('./cli/usage');

/** @type {Record<string, (input: import('./cli/usage').Input, output: import('../cli/output').Output) => Promise<number>>} */
const commands = {
  add: (...args) => require('./cli/users').add(...args),
  delete: (...args) => require('./cli/users').remove(...args),
  list: (...args) => require('./cli/users').list(...args),
  check: (...args) => require('./cli/users').check(...args),
  token: (...args) => require('./cli/token').token(...args)
};

/** @param {string[]} args @param {import('../cli/output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const input = readArguments(args);
  if (input.command === 'help' || input.command === 'version') {
    await output.line(input.command === 'help' ? HELP : require('../../../package.json').version);
    return 0;
  }
  return commands[input.command](input, output);
}

if (require.main === module) main('seganet-passwd', run);

module.exports = { run };
