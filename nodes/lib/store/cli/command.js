'use strict';
// seganet-log: inspects and repairs the log of a gateway. For its commands, see seganet-log --help.

const { main: runMain, runner } = require('../../base/cli/cli-main');
const { workAsOwnerOf } = require('../../base/cli/rights');
const { explain, locate } = require('./open');
const { loadSqlite } = require('./sqlite');
const { readArguments } = require('./usage');

/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @typedef {(place: import('./open').Place, options: any, output: Output) => Promise<number>} Command */
/** @type {Record<string, () => Command>} */
const commands = {
  inspect: () => require('./inspect').inspect,
  verify: () => require('./verify').verify,
  dump: () => require('./dump').dump,
  repair: () => require('./repair').repair,
  dead: () => require('./dead').dead
};

const run = runner(readArguments, async (command, options, output) => {
  const work = commands[command]();
  // What is loaded later may not be readable for the folder's owner.
  loadSqlite();
  workAsOwnerOf(options.directory);
  const place = locate(options.directory, command === 'repair' || command === 'dead' ? 'write' : 'read');
  try {
    return await work(place, options, output);
  } catch (error) {
    throw explain(error, place.file);
  }
});

const main = () => runMain('seganet-log', run, /^E[A-Z]+$|^ERR_SQLITE/);

module.exports = { main, run };
