#!/usr/bin/env node
'use strict';
// seganet-log: inspects and repairs the log of a gateway. For its commands, see seganet-log --help.

const launcher = require('../../../../flows/launcher/run');
const { main, runner } = require('../../base/cli/cli-main');
const { explain, locate } = require('./open');
const { readArguments } = require('./usage');

/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @type {Record<string, (place: import('./open').Place, options: any, output: Output) => Promise<number>>} */
const commands = {
  inspect: (...args) => require('./inspect').inspect(...args),
  verify: (...args) => require('./verify').verify(...args),
  dump: (...args) => require('./dump').dump(...args),
  repair: (...args) => require('./repair').repair(...args),
  dead: (...args) => require('./dead').dead(...args)
};

const run = runner(readArguments, async (command, options, output, args) => {
  if (!launcher.isNewEnough(process.versions.node)) return relaunch(args);
  const place = locate(options.directory, command === 'repair' || command === 'dead' ? 'write' : 'read');
  try {
    return await commands[command](place, options, output);
  } catch (error) {
    throw explain(error, place.file);
  }
});

/**
 * Runs the command with the gateway's Node.js, because this one has no node:sqlite. The launcher exits with the exit
 * code of that process.
 * @param {string[]} args
 * @returns {Promise<number>} never settles
 */
function relaunch(args) {
  launcher.main([__filename, ...args]);
  return new Promise(() => {});
}

if (require.main === module) main('seganet-log', run, /^E[A-Z]+$|^ERR_SQLITE/);

module.exports = { run };
