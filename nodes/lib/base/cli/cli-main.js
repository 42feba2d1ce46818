'use strict';

const { Output } = require('./cli-output');
const { CliError } = require('./cli-error');
const { droppedNote } = require('./rights');

/** @typedef {(args: string[], output: Output) => Promise<number>} Run resolves to the exit code */

/** Exit code when the command could not determine or do something: a tool, a privilege or a file is missing. */
const CANNOT = 3;

/**
 * Returns the function that runs a command: it prints the help or the version, or executes a subcommand.
 * @template Options
 * @param {(args: string[]) => { command: string, text: string, options: Options | null }} readArguments options null:
 *   only print the text
 * @param {(command: string, options: Options, output: Output, args: string[]) => Promise<number>} execute
 * @returns {Run}
 */
function runner(readArguments, execute) {
  return async (args, output) => {
    const { command, text, options } = readArguments(args);
    if (options) return execute(command, options, output, args);
    await output.line(text);
    return 0;
  };
}

/**
 * Runs a command with the arguments of this process, and sets its exit code. Prints a CliError or an error of the
 * operating system; throws any other error, because it is a bug.
 * @param {string} name of the command
 * @param {Run} run
 * @param {RegExp} [systems] codes of the system's errors
 */
async function main(name, run, systems = /^E[A-Z]+$/) {
  const output = new Output();
  process.exitCode = await run(process.argv.slice(2), output).catch(async (error) => {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const isOurs = error instanceof CliError;
    if (!isOurs && !(typeof code === 'string' && systems.test(code))) throw error;
    const note = /\b(EACCES|EPERM)\b|permission|not allowed|user\.$/.test(message) ? droppedNote() : '';
    await output.note(`${name}: ${message}${note && ` ${note}`}`);
    return isOurs ? error.exitCode : CANNOT;
  });
  await output.end();
}

module.exports = { main, runner };
