'use strict';

const { Output } = require('./cli-output');
const { CliError } = require('./cli-error');

/** The result is unknown: a tool, a permission or a file is missing. */
const CANNOT = 3;

/**
 * Runs a command with the arguments of this process, and sets its exit code. An error of the system is printed in the
 * system's words. Any other error is a bug and is thrown.
 * @param {string} name of the command
 * @param {(args: string[], output: Output) => Promise<number>} run resolves to the exit code
 * @param {RegExp} [systems] codes of the system's errors
 */
async function main(name, run, systems = /^E[A-Z]+$/) {
  const output = new Output();
  process.exitCode = await run(process.argv.slice(2), output).catch(async (error) => {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const isOurs = error instanceof CliError;
    if (!isOurs && !(typeof code === 'string' && systems.test(code))) throw error;
    await output.note(`${name}: ${message}`);
    return isOurs ? error.exitCode : CANNOT;
  });
  await output.end();
}

exports.main = main;
