'use strict';
// The commands: each file in this folder that exports a name and `run` is one.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Context what a command gets
 * @property {Record<string, any>} values of its options
 * @property {string[]} operands
 * @property {NodeJS.ProcessEnv} env
 * @property {import('../base/home').Home} home
 * @property {boolean} isJson --json was given
 * @property {(line: string) => void} print to standard output
 * @property {(line: string) => void} note to standard error
 * @property {(name: string) => import('../drivers/driver').Driver} driver
 */
/** @typedef {{ type: 'string' | 'boolean', short?: string, multiple?: boolean, help?: string, value?: string }} Option value: what it takes, for the help */
/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string} summary one line, begins with a verb
 * @property {string} [more] further lines of its help
 * @property {string} usage what follows the name, '' = nothing; or, in several lines, the whole help without the
 *   exit codes
 * @property {[number, number]} [operands] least and most; default: as many as `usage` has words in capitals
 * @property {Record<string, Option>} options --json and --help are known to all
 * @property {(context: Context) => Promise<number | void>} run resolves to the exit code, default 0
 */

/** @returns {Command[]} in the order of their names */
function commands() {
  return fs
    .readdirSync(__dirname)
    .filter((file) => file.endsWith('.js') && file !== 'index.js')
    .sort()
    .map((file) => require(path.join(__dirname, file)))
    .filter(({ name, run }) => name && run);
}

/** @param {Command} command @returns {[number, number]} */
function operandsOf({ usage, operands }) {
  if (operands) return operands;
  // A command with a help text of its own checks its operands itself.
  if (usage.includes('\n')) return [0, Infinity];
  const words = usage.split(' ').filter((word) => /^\[?[A-Z]+\]?$/.test(word));
  return [words.filter((word) => !word.startsWith('[')).length, words.length];
}

module.exports = { commands, operandsOf };
