'use strict';

const { Output } = require('./cli-output');
const { Trouble } = require('./cli-error');

/** Where nobody can tell: a tool, a right or a file is missing. */
const CANNOT = 3;

/**
 * Runs a command with the arguments of this process, and sets its exit code. What the system refuses is told in its words; any
 * other error is a fault of ours, and thrown.
 * @param {string} name of the command
 * @param {(args: string[], output: Output) => Promise<number>} run resolves to the exit code
 * @param {RegExp} [systems] codes of the system's errors
 */
async function main(name, run, systems = /^E[A-Z]+$/) {
  const output = new Output();
  process.exitCode = await run(process.argv.slice(2), output).catch(async (error) => {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const isOurs = error instanceof Trouble;
    if (!isOurs && !(typeof code === 'string' && systems.test(code))) throw error;
    await output.note(`${name}: ${message}`);
    return isOurs ? error.exitCode : CANNOT;
  });
  await output.end();
}

exports.main = main;
