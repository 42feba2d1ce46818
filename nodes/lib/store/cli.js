#!/usr/bin/env node
'use strict';
// seganet-log: looks into the log of a gateway, and mends it. Everything it can do: seganet-log --help.

const { Output } = require('../cli/output');
const { explain, locate } = require('./cli/open');
const { EXIT, Trouble } = require('./cli/trouble');
const { HELP, readArguments } = require('./cli/usage');

/** @type {Record<string, (place: import('./cli/open').Place, options: any, output: Output) => Promise<number>>} */
const commands = {
  inspect: (...args) => require('./cli/inspect').inspect(...args),
  verify: (...args) => require('./cli/verify').verify(...args),
  dump: (...args) => require('./cli/dump').dump(...args),
  repair: (...args) => require('./cli/repair').repair(...args),
  dead: (...args) => require('./cli/dead').dead(...args)
};

/** @param {string[]} args @param {Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, directory, options } = readArguments(args);
  if (command === 'help' || command === 'version') {
    await output.line(command === 'help' ? HELP : require('../../../package.json').version);
    return EXIT.OK;
  }
  const place = locate(directory, command === 'repair' || command === 'dead' ? 'write' : 'read');
  try {
    return await commands[command](place, options, output);
  } catch (error) {
    throw explain(error, place.file);
  }
}

/** @param {unknown} error @param {Output} output @returns {Promise<number>} the exit code */
async function complain(error, output) {
  const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
  const isOurs = error instanceof Trouble;
  const isSystems = typeof code === 'string' && /^E[A-Z]+$|^ERR_SQLITE/.test(code);
  if (!isOurs && !isSystems) throw error;
  await output.note(`seganet-log: ${message}`);
  return isOurs ? error.exitCode : EXIT.CANNOT;
}

async function main() {
  const output = new Output();
  process.exitCode = await run(process.argv.slice(2), output).catch((error) => complain(error, output));
  await output.end();
}

if (require.main === module) main();

module.exports = { run };
