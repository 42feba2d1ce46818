#!/usr/bin/env node
'use strict';
// seganet-passwd edits the files of device users and tokens. See seganet-passwd --help.

const { main, runner } = require('../../base/cli/cli-main');
const { readArguments } = require('./usage');

/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @type {Record<string, (input: import('./usage').Input, output: Output) => Promise<number>>} */
const commands = {
  add: (...args) => require('./users').add(...args),
  delete: (...args) => require('./users').remove(...args),
  list: (...args) => require('./users').list(...args),
  check: (...args) => require('./users').check(...args),
  token: (...args) => require('./token').token(...args)
};

const run = runner(readArguments, (command, input, output) => commands[command](input, output));

if (require.main === module) main('seganet-passwd', run);

module.exports = { run };
