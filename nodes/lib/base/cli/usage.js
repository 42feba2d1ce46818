'use strict';
// Reads the command line of a command with subcommands, and prints its help.

const { parseArgs } = require('node:util');
const { version } = require('../../../../package.json');
const { page } = require('../texts/page');

/** @typedef {(message: string) => Error} Usage makes the error for a wrong command line */
/** @typedef {import('node:util').ParseArgsConfig['options']} OptionSpecs */
/** @typedef {Record<string, string | boolean | undefined>} Values of the options */
/** @typedef {{ says: string, more: string, options: string[], operand?: string }} Command operand: its name, if one is needed */
/**
 * @typedef {object} Manual
 * @property {string} name
 * @property {string} purpose
 * @property {Record<string, string>} options lines of help
 * @property {string[]} flags options without a value
 * @property {Record<string, Command>} commands
 * @property {string} exits
 * @property {string[]} documents pages of the documentation
 * @property {Usage} usage
 */
/**
 * @typedef {{ command: string, text: string, values: Values | null, operand: string }} Read values null: only print the
 *   text
 */

/** @param {Manual} manual */
const help = ({ name, purpose, options, commands, exits, documents }) => `${name} <command> [options]

${purpose}

commands
${commandLines(commands).join('\n')}

options
${Object.values(options).join('\n')}

  --help, --version           ${name} <command> --help: help for one command

${exits}

What it does and why:
${documents.map((each) => `  ${page(each)}`).join('\n')}`;

/** @param {Record<string, Command>} commands @returns {string[]} */
function commandLines(commands) {
  const rows = Object.entries(commands).map(([command, { says, operand = '' }]) => ({
    head: `${command} ${operand}`.trim(),
    says
  }));
  const width = Math.max(8, ...rows.map(({ head }) => head.length + 2));
  return rows.map(({ head, says }) => `  ${head.padEnd(width)}${says}`);
}

/**
 * @param {Manual} manual
 * @param {string} command
 */
function helpOf({ name, options, commands, exits }, command) {
  const { says, more, options: names, operand = '' } = commands[command];
  return `${name} ${command} [options]${operand && ` ${operand}`}: ${says}.
${more}

${names.map((option) => options[option]).join('\n')}

${exits}`;
}

/**
 * Parses the options of a subcommand. Throws the error of `usage` for an unknown or incomplete option.
 * @param {string[]} args behind the subcommand
 * @param {OptionSpecs} options
 * @param {Usage} usage
 * @param {boolean} [allowPositionals]
 * @returns {{ values: Values, positionals: string[] }}
 */
function parseOptions(args, options, usage, allowPositionals = false) {
  try {
    return /** @type {any} */ (parseArgs({ args, options, allowPositionals, strict: true }));
  } catch (error) {
    throw usage(`${/** @type {Error} */ (error).message.split('. ')[0].replace(/\.$/, '')}.`);
  }
}

/**
 * Reads the subcommand of a command with a single help text.
 * @param {string[]} args of the command line
 * @param {{ help: string, commands: object, usage: Usage }} manual commands: has a property for each subcommand
 * @returns {{ command: string, rest: string[], text: string }} text '' = run the subcommand; otherwise only print the
 *   text
 */
function readCommand(args, { help: text, commands, usage }) {
  if (args.length === 0) throw usage('The command is missing.');
  const [command, ...rest] = args;
  if (args.includes('--help') || args.includes('-h') || command === 'help') return { command, rest, text };
  if (command === '--version') return { command, rest, text: version };
  if (!Object.hasOwn(commands, command)) throw usage(`There is no command '${command}'.`);
  return { command, rest, text: '' };
}

/**
 * Reads the command line of a command whose subcommands have help texts of their own.
 * @param {Manual} manual
 * @param {string[]} args of the command line
 * @returns {Read}
 */
function readCommandLine(manual, args) {
  if (args.length === 0) throw manual.usage('The command is missing.');
  const [command, ...rest] = args;
  if (command === '--version') return { command, text: version, values: null, operand: '' };
  const isHelp = args.includes('--help') || args.includes('-h') || command === 'help';
  const topic = Object.keys(manual.commands).find(
    (name) => name === command || (command === 'help' && name === rest[0])
  );
  if (isHelp) {
    return { command: 'help', text: topic ? helpOf(manual, topic) : help(manual), values: null, operand: '' };
  }
  if (!topic) throw manual.usage(`There is no command '${command}'.`);
  const specs = manual.commands[topic].options.map((name) => [
    name,
    { type: manual.flags.includes(name) ? 'boolean' : 'string' }
  ]);
  const { operand: wanted = '' } = manual.commands[topic];
  const read = parseOptions(rest, Object.fromEntries(specs), manual.usage, wanted !== '');
  const { values, positionals } = read;
  if (wanted !== '' && positionals.length === 0) throw manual.usage(`${wanted} is missing.`);
  if (positionals.length > 1) throw manual.usage(`'${positionals[1]}' is one argument too many.`);
  return { command: topic, text: '', values, operand: positionals[0] ?? '' };
}

module.exports = { parseOptions, readCommand, readCommandLine };
