#!/usr/bin/env -S node --max-semi-space-size=1
'use strict';
// seganet-gateway: sets up, runs, checks and backs up a gateway. For its commands, see seganet-gateway --help.
// --max-semi-space-size: see docs/operations.md.

const launcher = require('../launcher/run');
const { main, runner } = require('../../nodes/lib/base/cli/cli-main');
const { readArguments } = require('./usage');

/** @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output */
/** @typedef {import('./usage').Options} Options */
/** @type {Record<string, (options: Options, output: Output) => Promise<number>>} */
const commands = {
  init: (...args) => require('./init').init(...args),
  start: (options) => require('./start').start(options),
  check: (...args) => require('./check').check(...args),
  status: (...args) => require('./status').status(...args),
  backup: (...args) => require('./backup').backup(...args),
  restore: (...args) => require('./restore').restore(...args),
  'install-service': (...args) => require('./install-service').installService(...args)
};

const run = runner(readArguments, async (command, options, output, args) => {
  if (!launcher.isNewEnough(process.versions.node)) {
    // The launcher exits with the exit code of a newer Node.
    launcher.main([__filename, ...args]);
    return new Promise(() => {});
  }
  return commands[command](options, output);
});

if (require.main === module) void main('seganet-gateway', run, /^E[A-Z]+$|^ERR_SQLITE/);

module.exports = { run };
