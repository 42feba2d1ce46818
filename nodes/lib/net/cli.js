#!/usr/bin/env node
'use strict';
// seganet-net: sets a network interface up so that urgent packets go first. Everything it can do: seganet-net --help.

const { Output } = require('../cli/output');
const { readArguments } = require('./cli/usage');
const { EXIT, Trouble } = require('./trouble');

/** @type {Record<string, (options: import('./prepare').Options, output: Output) => Promise<number>>} */
const commands = {
  plan: (...args) => require('./cli/plan').plan(...args),
  apply: (...args) => require('./cli/apply').apply(...args),
  check: (...args) => require('./cli/check').check(...args),
  undo: (...args) => require('./cli/undo').undo(...args)
};

/** @param {string[]} args @param {Output} output @returns {Promise<number>} the exit code */
async function run(args, output) {
  const { command, text, options } = readArguments(args);
  if (options) return commands[command](options, output);
  output.line(text);
  return EXIT.OK;
}

/** @param {unknown} error @param {Output} output @returns {Promise<number>} the exit code */
async function complain(error, output) {
  const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
  const isOurs = error instanceof Trouble;
  const isSystems = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  if (!isOurs && !isSystems) throw error;
  await output.note(`seganet-net: ${message}`);
  return isOurs ? error.exitCode : EXIT.CANNOT;
}

async function main() {
  const output = new Output();
  process.exitCode = await run(process.argv.slice(2), output).catch((error) => complain(error, output));
  await output.end();
}

if (require.main === module) main();

module.exports = { run };
