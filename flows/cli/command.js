'use strict';
// seganet-gateway: sets up, runs, checks and backs up a gateway. For its commands, see seganet-gateway --help.

const { main: runMain, runner } = require('../../nodes/lib/base/cli/cli-main');
const { readArguments } = require('./usage');

/** @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output */
/** @typedef {import('./usage').Options} Options */
/** @type {Record<string, (options: Options, output: Output) => Promise<number>>} */
const commands = {
  init: (...args) => require('./init').init(...args),
  start: (options) => require('./start').start(options),
  check: (...args) => require('./check').check(...args),
  status: (...args) => require('./status').status(...args),
  events: (...args) => require('./events').events(...args),
  query: (...args) => require('./query').query(...args),
  shadow: (...args) => require('./shadow').shadow(...args),
  drain: (...args) => require('./drain').drain(...args),
  backup: (...args) => require('./backup').backup(...args),
  restore: (...args) => require('./restore').restore(...args),
  'install-service': (...args) => require('./install-service').installService(...args)
};

const run = runner(readArguments, (command, options, output) => commands[command](options, output));

const main = () => runMain('seganet-gateway', run, /^E[A-Z]+$|^ERR_SQLITE/);

module.exports = { main, run };
