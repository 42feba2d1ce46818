#!/usr/bin/env node
'use strict';
// seganet-log: looks into the log of a gateway, and mends it. Everything it can do: seganet-log --help.

const launcher = require('../../../../flows/launcher/run');
const { main } = require('../../base/cli/cli-main');
const { explain, locate } = require('./open');
const { EXIT } = require('./log-error');
const { HELP, readArguments } = require('./usage');

/** @type {Record<string, (place: import('./open').Place, options: any, output: import('../../base/cli/cli-output').Output) => Promise<number>>} */
const commands = {
  inspect: (...args) => require('./inspect').inspect(...args),
  verify: (...args) => require('./verify').verify(...args),
  dump: (...args) => require('./dump').dump(...args),
  repair: (...args) => require('./repair').repair(...args),
  dead: (...args) => require('./dead').dead(...args)
};

/** @param {string[]} args @param {import('../../base/cli/cli-output').Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, directory, options } = readArguments(args);
  if (command === 'help' || command === 'version') {
    await output.line(command === 'help' ? HELP : require('../../../../package.json').version);
    return EXIT.OK;
  }
  if (!launcher.isNewEnough(process.versions.node)) return relaunch(args);
  const place = locate(directory, command === 'repair' || command === 'dead' ? 'write' : 'read');
  try {
    return await commands[command](place, options, output);
  } catch (error) {
    throw explain(error, place.file);
  }
}

/**
 * Runs the command with the gateway's Node, as this one has no node:sqlite; that one's exit code is ours.
 * @param {string[]} args
 * @returns {Promise<number>} never settles
 */
function relaunch(args) {
  launcher.main([__filename, ...args]);
  return new Promise(() => {});
}

if (require.main === module) main('seganet-log', run, /^E[A-Z]+$|^ERR_SQLITE/);

module.exports = { run };
